"""How a user of this system installs a program: Homebrew on a Mac, else Debian's packages."""

import sys


def name_package_manager() -> str:
    """Return ``Homebrew`` on a Mac, else ``apt-get``."""
    return "Homebrew" if sys.platform == "darwin" else "apt-get"


def format_install_command(debian: str, homebrew: str) -> str:
    """Return the command that installs packages; empty where this system's are not named.

    Parameters
    ----------
    debian, homebrew : str
        The packages' names in Debian and in Homebrew, with blanks between them.
    """
    if sys.platform == "darwin":
        return f"brew install {homebrew}" if homebrew else ""
    return f"apt-get install {debian}" if debian else ""
