"""From a study's YAML grid to cells, checked and in the order in which they are run.

In come a profile and the command's options; out goes a `Plan`: its cells, each with its identity and its state in the
results' folder, and what is left out. Begin with `plan` in `planning`; `grid_file` reads a grid, `expansion` multiplies
it out, `identities` says what makes a result new, `units` which code has which version.
"""

from benchbook.grid.grid_file import load
from benchbook.grid.identities import code_hash, identity
from benchbook.grid.planning import (
    Cell,
    Elsewhere,
    Kind,
    LeftOut,
    NoneFitsError,
    Place,
    Plan,
    current,
    elsewhere,
    finished,
    in_their_states,
    keys,
    levels,
    own,
    plan,
)
from benchbook.grid.units import cell_modules

__all__ = [
    "Cell",
    "Elsewhere",
    "Kind",
    "LeftOut",
    "NoneFitsError",
    "Place",
    "Plan",
    "cell_modules",
    "code_hash",
    "current",
    "elsewhere",
    "finished",
    "identity",
    "in_their_states",
    "keys",
    "levels",
    "load",
    "own",
    "plan",
]
