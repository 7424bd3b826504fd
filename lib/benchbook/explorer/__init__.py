"""The explorer: any contrast of a study looked at from all sides, and one's own documents measured by questions.

In come block means with the repetitions behind them (`sources`), and what a reader chooses; out go widgets, files of a
figure, and cells that are measured (`running`). Begin with `contrasts`: what can be asked, and the answer. `drawing`,
`own_claims` and `documents` need no widget either; `markup` makes HTML of what they return, and `page` puts it on the
widgets: its own, those that measure (`measuring`) and those for a file (`own_file`). `serving` is the page's server,
which `benchbook explore` starts.
"""

from typing import Final

READY: Final = "BENCHBOOK_EXPLORER_READY"
"""The variable that names a file, which `page` makes once its widgets stand."""

TOKEN: Final = "BENCHBOOK_EXPLORER_TOKEN"
"""The variable in which the server is given its token: arguments can be read by every account of the machine."""
