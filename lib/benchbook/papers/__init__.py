"""What is true of one paper: its figures, tables and headline, and checks of its own numbers.

Begin with `exhibits`, every figure and table by name, then one paper's ``FIGURES``, ``TABLES`` and
``HEADLINE``. `recomputed` has the checks and findings, `numbers` single numbers by key.
"""
