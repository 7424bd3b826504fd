"""The errors after which a run measures no further cell."""


class RunError(RuntimeError):
    """Why no further cell can run, and what to do."""
