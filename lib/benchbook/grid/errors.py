"""What is wrong with a grid is told as of every file that a person writes."""

from benchbook.inputs import InputError as GridError
from benchbook.strict import nearest

__all__ = ["GridError", "nearest"]
