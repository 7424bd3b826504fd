"""benchbook: rerun five published performance studies on the machine in front of you.

The packages are floors of one house; each imports only from the floors below it (``lint-imports``
holds this). Begin with `cli`, which leads to all of them, or with one of the walks of
CONTRIBUTING.md.
"""
