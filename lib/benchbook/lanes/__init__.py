"""The papers' own stacks, Java and Node, behind one contract: a request in, a line of JSON a repetition out."""

from benchbook.lanes.contract import Closing, LaneError, Repetition, Section
from benchbook.lanes.harness import run
from benchbook.lanes.toolchains import LANES, Found, Missing, find

__all__ = ["LANES", "Closing", "Found", "LaneError", "Missing", "Repetition", "Section", "find", "run"]
"""What studies need of a lane."""
