"""What a notebook refuses is said in a line, as on the command line, and not in a traceback of what lies between."""

import sys
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from benchbook import strict
from benchbook.inputs import InputError
from benchbook.strict import Located


def said_in_a_line() -> None:
    """Have the notebook that runs this, if one does, print refused values in a line; elsewhere do nothing."""
    ipython = sys.modules.get("IPython")
    if ipython and (shell := ipython.get_ipython()):
        shell.set_custom_exc((ValidationError, InputError), _say)


def _say(
    shell: Any, kind: type[Exception], error: Exception, trace: TracebackType, tb_offset: int | None = None
) -> list[str]:
    """Show an error as IPython shows the ones that it knows; the cell's output keeps its name and text."""
    lines = [line(error, _model(trace))]
    shell._showtraceback(kind, error, lines)
    return lines


def line(error: Exception, model: type | None = None) -> str:
    """Return a refusal in a line, with the nearest right name where a name is wrong; `model` is what refused it."""
    if not isinstance(error, ValidationError):
        return f"Refused: {error}"
    named = {str(detail["loc"][0]): Located(detail["input"], "") for detail in error.errors() if detail["loc"]}
    _, name, message = strict.mistake(error, Located(named, ""), model)
    return " ".join(f"Refused: {name} {message}".split())


def _model(trace: TracebackType) -> type:
    """Return the class of what was being made when it was refused: the last frame's ``self``."""
    while trace.tb_next:
        trace = trace.tb_next
    return type(trace.tb_frame.f_locals.get("self"))
