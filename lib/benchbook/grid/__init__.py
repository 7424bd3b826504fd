"""From a study's YAML grid to cells, checked and in the order in which they are run.

In come a profile and the command's options; out goes a list of `Cell`, each with its identity and its state in the
results' folder. Begin with `plan` in `planning`; `expansion` reads a grid and multiplies it out, `identities` says what
makes a result new.
"""

from benchbook.grid.expansion import load
from benchbook.grid.identities import code, code_hash, identity
from benchbook.grid.planning import (
    Cell,
    Elsewhere,
    Kind,
    LeftOut,
    Place,
    current,
    elsewhere,
    finished,
    hidden,
    in_their_states,
    keys,
    left_out,
    own,
    plan,
)

__all__ = [
    "Cell",
    "Elsewhere",
    "Kind",
    "LeftOut",
    "Place",
    "code",
    "code_hash",
    "current",
    "elsewhere",
    "finished",
    "hidden",
    "identity",
    "in_their_states",
    "keys",
    "left_out",
    "load",
    "own",
    "plan",
]
