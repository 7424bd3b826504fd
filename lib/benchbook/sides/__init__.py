"""Any two sides that a user compares: commands, or functions of Python.

Begin with `measurement`, which measures blocks in which the sides take turns, and with `answer`,
which compares them as the claims of the papers are compared.
"""
