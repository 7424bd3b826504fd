"""Languages: Java and Node.js, in which papers measured.

Begin with `harness`, which runs a cell in one of them.
"""
