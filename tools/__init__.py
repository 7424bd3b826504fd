"""Programs that maintain the suite; a run needs none of them.

Run ``python -m tools.NAME`` in the checkout's folder. Begin with `tools.reference`, which makes the
reference run.
"""
