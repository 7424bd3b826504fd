"""Document and relational databases, single and replicated (study `crud`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end of `figures`; `null_baseline` says what of an engine's time is the harness's own, and `recomputed`
has what no formula says of the printed numbers.
"""

from typing import Final

TIMED: Final = {
    "Table II": ("insert", "single"),
    "Table III": ("insert", "replicated"),
    "Table IV": ("update", "single"),
    "Table V": ("update", "replicated"),
    "Table VI": ("delete", "single"),
    "Table VII": ("delete", "replicated"),
    "Table VIII": ("select", "single"),
}
"""The operation and topology that each of the paper's tables of times is of; Figs. 2 to 8 show them in this order."""
