"""Which benchbook this is: its version and, in a checkout, its commit."""

import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

CHANGES_MARK = "+changes"
"""Follows a commit when files differ from it that can move a number."""

_MEASURING = ("lib", "harness", "data", "papermill_params", "pyproject.toml")
"""The parts of a checkout that can; a notebook's code is a unit of its own."""

_CHECKOUT = Path(__file__).resolve().parents[2]


def is_checkout() -> bool:
    """Return whether this is the code of a checkout, which has set-up and tools, or of a wheel."""
    return (_CHECKOUT / "setup.sh").is_file()


@cache
def read_version() -> str:
    """Return the installed version, which ``pyproject.toml`` states."""
    return metadata.version("benchbook")


@cache
def read_commit() -> str:
    """Return the short commit of this code, with `CHANGES_MARK` if files differ; else empty."""
    head = _run_git("rev-parse", "--short=10", "HEAD")
    if not head or not (_CHECKOUT / ".git").exists():
        return ""
    changed = _run_git("status", "--porcelain", "--untracked-files=no", "--", *_MEASURING)
    return head + CHANGES_MARK if changed else head


def describe_version() -> str:
    """Return name, version and commit: ``benchbook 0.3.0 (1a2b3c4d5e)``."""
    commit = read_commit()
    return f"benchbook {read_version()}" + (f" ({commit})" if commit else "")


def _run_git(*words: str) -> str:
    """Return git's answer about this code's checkout; empty without git or a checkout."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(_CHECKOUT), *words],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
