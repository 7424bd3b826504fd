"""The checkout that the tests are of."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""Its folder."""


def copy_environment() -> dict[str, str]:
    """Return the environment for tests that a test runs: without what changes this run of pytest.

    Options such as -v may need folders that another account cannot read.
    """
    copied = {}
    for name, value in os.environ.items():
        if not name.startswith("PYTEST_") and name != "CI":
            copied[name] = value
    return copied
