"""Which benchbook this is: its version, and in a checkout the commit that it is at."""

import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

_HERE = Path(__file__).resolve().parents[2]
_WAIT_S = 10
_SHORT = 10
CHANGED = "+changes"
"""What stands behind a commit whose files were changed since."""


@cache
def version() -> str:
    """Return the version, which stands in ``pyproject.toml``: of what is installed here."""
    return metadata.version("benchbook")


@cache
def commit() -> str:
    """Return the short commit of this very code, with `CHANGED` where files differ from it; empty outside git."""
    head = _git("rev-parse", f"--short={_SHORT}", "HEAD")
    if not head or not (_HERE / ".git").exists():
        return ""
    return head + (CHANGED if _git("status", "--porcelain", "--untracked-files=no") else "")


def suite() -> str:
    """Return name, version and commit: ``benchbook 0.2.0 (1a2b3c4d5e)``."""
    return f"benchbook {version()}" + (f" ({commit()})" if commit() else "")


def _git(*words: str) -> str:
    """Return what git says of this code's checkout; nothing where there is no git, or no checkout."""
    try:
        answer = subprocess.run(["git", "-C", str(_HERE), *words], capture_output=True, text=True, timeout=_WAIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
