"""The final notebook, the figures and `report.html`; what the final notebook calls."""

from benchbook.report.builder import ReportError, build

__all__ = ["ReportError", "build"]
