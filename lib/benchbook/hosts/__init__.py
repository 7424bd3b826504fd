"""A lab's hosts: blocks of cells are measured on other machines, which Dask connects; one machine needs none of it.

In comes what `benchbook run --hosts` was asked; out go results in this machine's folder, as if measured here. Begin
with `dispatch`, the run's side, which asks `works` what to send; a `worker` measures it. `places` is another use of
the same workers: there they hold the servers, and the run measures here.
"""


class NoLabError(RuntimeError):
    """The hosts cannot be used, or no more: says why, and what to do."""
