"""The explorer: any contrast of a study looked at from all sides, and one's own documents measured by questions.

`benchbook.explorer.page` puts the widgets together; what they show is made by functions that need no widget:
`sources` (what was measured), `contrasts` (what can be asked, and the answer), `drawing`, `own_claims`, `running`,
`documents`. `serving` is the page's server, which `benchbook explore` starts.
"""

from typing import Final

READY: Final = "BENCHBOOK_EXPLORER_READY"
"""The variable that names a file, which `page` makes once its widgets stand."""

TOKEN: Final = "BENCHBOOK_EXPLORER_TOKEN"
"""The variable in which the server is given its token: arguments can be read by every account of the machine."""
