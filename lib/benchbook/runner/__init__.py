"""Runs the cells of a plan: one at a time, each in a fresh kernel, resumed after a stop.

Begin with `Batch` in `batch`: it starts each deployment (`block_deployment`), waits until the
machine is quiet (`load_monitor`), and executes each cell's `notebook` in a `kernel`.
"""
