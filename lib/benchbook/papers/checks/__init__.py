"""Each paper's own numbers, checked in plain Python: one module per study.

A module has two functions. `list_checks` compares printed numbers with others that they follow
from. `compute_findings` returns the numbers in the texts of ``data/findings``, which describe what
does not follow. `benchbook.papers.recomputed` runs the checks and fills the texts.
"""
