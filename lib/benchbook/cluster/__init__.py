"""Runs on several machines: the workers of a stock Dask scheduler measure blocks of cells.

Begin with `Dispatch` in `dispatch`, the run's side: it sends blocks and keeps their results. The
hosts' side is `worker`, whose tasks start a `child_process` that plans or measures a `block`.
"""
