"""What is asked of a harness and what it answers: `harness/contract.schema.json`, the same file on both sides."""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from benchbook import paths
from benchbook.scrubbing import scrubbed

_NOISE: Final = 200
"""Characters of a line that is none of the contract's, in a message."""


class LaneError(RuntimeError):
    """A harness failed, or said something that the contract does not know; the message holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(scrubbed(message))


@dataclass(frozen=True)
class Section:
    """What was timed at once, with all that was read around it.

    Parameters
    ----------
    operation, count, started_at
        What it did, to how many items, and when it began (UTC).
    values
        Role, metric, value, unit, source and resolution of each reading, and whether it is censored.
    format, codec
        Where the study has them.
    """

    operation: str
    count: int
    started_at: datetime
    values: list[dict[str, Any]]
    format: str | None = None
    codec: str | None = None


@dataclass(frozen=True)
class Repetition:
    """One timed pass."""

    number: int
    sections: list[Section]


@dataclass(frozen=True)
class Closing:
    """The last line: all went well.

    Parameters
    ----------
    repetitions
        How many lines came before it.
    driver
        The library that did the work, with its version.
    lost
        Why nothing more could be measured after those; empty when all was.
    """

    repetitions: int
    driver: str
    lost: str = ""


def request(study: str, parameters: dict[str, Any], folder: str, **rest: Any) -> bytes:
    """Return a request, checked.

    Raises
    ------
    LaneError
        When it breaks the contract.
    """
    asked = {"study": study, "parameters": parameters, "folder": folder}
    asked |= {name: value for name, value in rest.items() if value is not None}
    _check("request", asked)
    return json.dumps(asked).encode()


def line(text: str) -> Repetition | Closing:
    """Return what a line says.

    Raises
    ------
    LaneError
        When it is an error of the harness, or nothing that the contract knows.
    """
    try:
        told = json.loads(text)
    except ValueError:
        raise LaneError(f"the harness printed what is no line of its answer: {text.strip()[:_NOISE]!r}") from None
    _check("line", told)
    if error := told.get("error"):
        raise LaneError(f"{error['type']}: {error['message']}")
    if "closed" in told:
        return Closing(told["repetitions"], told["driver"], told.get("lost", ""))
    return Repetition(told["repetition"], [_section(one) for one in told["sections"]])


def _section(told: dict[str, Any]) -> Section:
    return Section(**told | {"started_at": datetime.fromisoformat(told["started_at"])})


def _check(what: str, told: Any) -> None:
    from jsonschema.exceptions import best_match

    if error := best_match(_validator(what).iter_errors(told)):
        raise LaneError(f"the harness' {what} breaks the contract at {error.json_path}: {error.message[:_NOISE]}")


@cache
def _validator(what: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = json.loads((paths.harness("") / "contract.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator({**schema, "$ref": f"#/$defs/{what}"})
