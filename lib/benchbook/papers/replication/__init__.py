"""JSON and XML documents replicated one way (study `replication`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end of `figures`; `recomputed` has what no formula says of the printed numbers.
"""
