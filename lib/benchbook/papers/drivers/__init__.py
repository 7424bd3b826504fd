"""MongoDB through its Node.js driver and through an object mapper (study `drivers`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end of `figures`.
"""
