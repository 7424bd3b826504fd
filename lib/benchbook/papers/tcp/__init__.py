"""JSON and XML sent to a multi-threaded TCP server (study `tcp`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end of `figures`; `students` repeats the paper's tests on its own numbers.
"""

from benchbook.papers.tcp.figures import FIGURES, HEADLINE, LOOKS, PAPERS_WAY, TABLES

__all__ = ["FIGURES", "HEADLINE", "LOOKS", "PAPERS_WAY", "TABLES"]
