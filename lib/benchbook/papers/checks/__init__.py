"""Each paper's own numbers, checked in plain Python: one module per study.

A module has two generators. `list_checks` yields what follows from other printed numbers, or
should; `list_findings` yields what does not follow. `benchbook.papers.recomputed` makes a check.
"""
