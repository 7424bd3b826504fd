"""Each paper's own numbers, checked in plain Python: one module per study.

A module has two generators. `checks` yields what follows from other printed numbers, or should;
`findings` yields what does not follow, in words with computed numbers.
`benchbook.papers.recomputed` has the functions that make a check.
"""
