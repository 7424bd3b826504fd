"""The final notebook, the figures and `report.html`; what the final notebook calls."""

from benchbook.report.builder import build

__all__ = ["build"]
