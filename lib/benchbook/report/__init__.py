"""The final notebook, the figures and `report.html`; what the final notebook calls."""

from benchbook.report.builder import PAGE, NothingRanError, ReportError, build

__all__ = ["PAGE", "NothingRanError", "ReportError", "build"]
