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


def _say(shell: Any, kind: type[Exception], error: Exception, trace: TracebackType, tb_offset: Any = None) -> list[str]:
    """Show an error as IPython shows the ones that it knows; the cell's output keeps its name and text."""
    said = [line(error, _model(trace))]
    shell._showtraceback(kind, error, said)
    return said


def line(error: Exception, model: Any = None) -> str:
    """Return a refusal in a line, with the nearest right name where a name is wrong; `model` is what refused it."""
    if not isinstance(error, ValidationError):
        return f"Refused: {error}"
    named = {str(one["loc"][0]): Located(one["input"], "") for one in error.errors() if one["loc"]}
    _, name, said = strict.mistake(error, Located(named, ""), model)
    return " ".join(f"Refused: {name} {said}".split())


def _model(trace: TracebackType) -> Any:
    """Return the class of what was being made when it was refused: the last frame's ``self``."""
    while trace.tb_next:
        trace = trace.tb_next
    return type(trace.tb_frame.f_locals.get("self"))
