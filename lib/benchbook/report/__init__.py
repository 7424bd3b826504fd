"""The final notebook, the figures and `report.html`; what the final notebook calls.

In come a profile's name and the results of its cells; out go its figures and one page, in the folder of its figures.
Begin with `build` in `builder`, which runs the final notebook and makes the page of it. The notebook calls `merge` for
what was measured, `words` for sentences and `show` for HTML. Beside it stands `notebooks`, the answer in a study's
notebook.
"""

from benchbook.report.builder import PAGE, NothingRanError, ReportError, build

__all__ = ["PAGE", "NothingRanError", "ReportError", "build"]
