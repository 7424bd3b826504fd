"""Configurations: the combinations of levels that ran, of which a comparison takes some.

Begin with `Configuration`; `read_configuration` makes one from a row of a cell.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, get_args

import pandas as pd

from benchbook.analysis.claims import ROW_COLUMNS
from benchbook.analysis.published import CellSettings
from benchbook.results.schema import (
    ALTERNATING_COLUMNS,
    TURN_PARAMETERS,
    name_parameter_column,
)
from benchbook.studies.catalogue import load_study
from benchbook.studies.cell import write_levels

ROW_LEVELS: Final = ("database", "topology", *ALTERNATING_COLUMNS)
"""Columns whose level in a row counts; the parameter may name several levels, as ``both``."""

ALTERNATING_SETTINGS: Final = (
    *(name_parameter_column(name) for name in ALTERNATING_COLUMNS),
    *(f"cell_{name}" for name in TURN_PARAMETERS),
)
"""Settings that name all levels that alternate in a cell, such as both formats: ``cell_format``."""

SINGLE_LEVEL: Final = "alone"
"""The level of an alternating setting in a table, where a cell has one level only."""


@dataclass(frozen=True)
class Configuration:
    """One combination of levels that ran; of alternating levels, one of them."""

    study: str
    language: str
    parameters: tuple[str, ...]
    settings: CellSettings  # levels of parameters, and of the columns that a row states itself
    alternating: CellSettings  # parameters of which the cell has several levels
    cell: str  # the cell's parameters in JSON, as a plan has them
    is_unchecked: bool  # whether an adapter that has not met its server measured it

    @property
    def alternating_settings(self) -> dict[str, Any]:
        """The parameters with several levels, under the names of their columns: ``cell_format``."""
        return {f"cell_{name}": level for name, level in self.alternating.items()}

    def has_other_turns(self, compared: Collection[str]) -> bool:
        """Return whether levels take turns that are only measured to be compared with each other.

        Its cell is read where these are compared, and nowhere else.
        """
        return any(name not in compared for name in TURN_PARAMETERS if name in self.alternating)

    def select_settings(self, varying: Iterable[str], columns: Iterable[str] = ()) -> CellSettings:
        """Return the settings that compared configurations must share.

        Alternating levels are compared within such cells only, so all their levels are shared.

        Parameters
        ----------
        varying
            Names that may differ.
        columns
            Columns that must be equal, besides all parameters.
        """
        stated = {name for name in columns if name in self.settings}
        names = {*self.parameters, *stated} - {*varying}
        shared = {name: self.settings[name] for name in sorted(names)}
        return shared | self.alternating_settings

    def measure_distance(self, named: Collection[str]) -> tuple[int, int]:
        """Return how far the parameters that are not named are from their defaults.

        First how many differ, then how far down their lists of levels they are, in sum.
        """
        distances = [distance for name, distance in self._distances.items() if name not in named]
        return sum(distance > 0 for distance in distances), sum(distances)

    @cached_property
    def _distances(self) -> dict[str, int]:
        fields = load_study(self.study).Parameters.model_fields
        distances = {}
        for name in self.parameters:
            field = fields.get(name)
            level = self.settings[name]
            distances[name] = 0
            if field is not None and level != field.default:
                options = get_args(field.annotation)
                distances[name] = 1 + (options.index(level) if level in options else 0)
        return distances


def read_configuration(study: str, row: Mapping[Any, Any]) -> Configuration:
    """Return the configuration of one of a cell's rows."""
    model = load_study(study).Parameters
    levels = model.read_levels(row)
    stated = {name: row[name] for name in (*ROW_COLUMNS, "arm") if isinstance(row.get(name), str)}
    # Where both formats alternate, the row's own format counts.
    own = {name: level for name, level in stated.items() if name in ROW_LEVELS}
    alternating = {}
    for name in {*ALTERNATING_COLUMNS} & own.keys() & levels.keys() - {"arm"}:
        if levels[name] != own[name]:
            alternating[name] = levels[name]
    for name in TURN_PARAMETERS:
        if "/" in str(levels.get(name)):
            alternating[name], own[name] = levels[name], row["own_level"]
    settings = {**stated, **levels, **own}
    cell = write_levels(model.drop_later_levels(levels))
    is_unchecked = bool(row.get("is_unchecked"))
    return Configuration(
        study, row["language"], tuple(levels), settings, alternating, cell, is_unchecked
    )


def build_settings_frame(settings: Iterable[CellSettings]) -> pd.DataFrame:
    """Return settings as a frame; `SINGLE_LEVEL` where an alternating setting has one level."""
    frame = pd.DataFrame([*settings])
    return frame.fillna({name: SINGLE_LEVEL for name in frame if name in ALTERNATING_SETTINGS})
