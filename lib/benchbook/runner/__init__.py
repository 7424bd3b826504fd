"""Executes a plan through papermill: one timing slot, a fresh kernel a cell, resumed and tried again.

In come the cells of `benchbook.grid.plan`; out goes a file for each in the results' folder. Begin with `Batch` in
`batch`: it makes a `visit` to each deployment, and runs each cell's `notebook` in a fresh kernel.
A run until claims are decided adds blocks to the cells that `undecided` claims read.
"""
