"""benchbook: rerun five published performance studies on the machine in front of you.

The packages are floors of one house; each imports only from the floors below it (``lint-imports`` holds this).
"""

__version__ = "0.1.0"
