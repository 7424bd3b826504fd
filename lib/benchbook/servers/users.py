"""Who runs servers that refuse to run as root."""

import pwd

from benchbook.servers.errors import ServerError


def substitute(product: str, preferred: str) -> str:
    """Return the user that runs a product's servers for root: the preferred one, else ``nobody``.

    Raises
    ------
    ServerError
        When there is neither.
    """
    users = {entry.pw_name for entry in pwd.getpwall()}
    for name in (preferred, "nobody"):
        if name in users:
            return name
    raise ServerError(f"{product} does not run as root, and there is neither a user {preferred} nor nobody: add one")
