"""The checkout that the tests are of."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""Its folder."""
