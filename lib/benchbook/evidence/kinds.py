"""The ways in which cells ran, and how far each lies from its study's defaults."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, get_args

from pydantic import BaseModel

from benchbook import studies
from benchbook.evidence.claim_names import FREE

MEASURED: Final = frozenset({"engine", "topology", "format", "codec"})
"""Columns that say more than the parameter of their name; ``driver``, say, has the version too."""


@dataclass(frozen=True)
class Kind:
    """One way in which cells ran: parameters, and the columns that a row states itself."""

    study: str
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]

    def common(self, apart: frozenset[str]) -> str:
        """Return the parameters that the sides must share, as JSON."""
        shared = {name: self.settings[name] for name in self.parameters if name not in apart and name not in FREE}
        return json.dumps(shared, sort_keys=True)

    def strangeness(self, named: frozenset[str]) -> tuple[int, int]:
        """Return how many parameters that are not named differ from their defaults, and how far down their lists."""
        far = [far for name, far in self._distances.items() if name not in named]
        return sum(one > 0 for one in far), sum(far)

    @cached_property
    def _distances(self) -> dict[str, int]:
        return {name: _distance(self.study, name, self.settings[name]) for name in self.parameters}


@cache
def kind_of(study: str, parameters: str, columns: tuple[tuple[str, str], ...]) -> Kind:
    """Return the kind of a cell from its parameters (JSON) and the columns that a row states."""
    given: dict[str, Any] = json.loads(parameters)
    told: dict[str, Any] = dict(columns)
    measured = {name: told[name] for name in told if name in MEASURED}  # a cell with both formats: the row's own counts
    return Kind(study, given, {**told, **given, **measured})


def _distance(study: str, name: str, value: Any) -> int:
    model: type[BaseModel] = studies.load(study).Parameters
    field = model.model_fields.get(name)
    if field is None or value == field.default:
        return 0
    options = get_args(field.annotation)
    return 1 + (options.index(value) if value in options else 0)
