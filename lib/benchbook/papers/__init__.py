"""One paper's figures, tables and headline, and which of its numbers follow from others.

Begin with `exhibits`, every figure and table by name, then the ``PAPER`` at the end of one paper's
module. `findings` has the checks of its numbers, `numbers` single numbers by key.
"""
