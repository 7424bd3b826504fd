"""Marking: checks as they are in their files, whatever a notebook changed in them."""

import importlib
from types import ModuleType


def load_checks(lesson: str) -> ModuleType:
    """Load a lesson's module again, with what all checks use, and return it.

    A notebook cell may have replaced a check, by mistake or to forge points. Reading the files
    again undoes that, before an answer is graded.

    Parameters
    ----------
    lesson
        The name of a module of this package, such as ``clocks``.
    """
    for name in ("feedback", "predictions", lesson):
        module = importlib.reload(importlib.import_module(f"benchbook_lessons.{name}"))
    return module
