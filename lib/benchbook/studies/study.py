"""A study: the parameters of its cells, what a cell needs, how it is measured, what it delivers.

A study's module ends with its `Study`, by convention ``STUDY``. A plug-in announces that name.
"""

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, get_args

from pydantic import ValidationError

from benchbook.schema import Record, Schema
from benchbook.servers.deployment import Topology
from benchbook.studies.cell import Output, ParametersT

if TYPE_CHECKING:
    import pandas as pd


class RecordCheck(Hashable, Protocol):
    """A check of a user's records that needs no server."""

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `benchbook.schema.UnfitError` when the study does not take the records."""


@dataclass(frozen=True)
class Study(Generic[ParametersT]):
    """What benchbook needs of a study; each function has a cell's parameters as its argument."""

    # Its name in grids and commands.
    name: str
    # The parameters of a cell: a subclass of `benchbook.studies.cell.CellParameters`.
    Parameters: type[ParametersT]
    # Measures a cell and returns its rows. It has the decorator
    # `benchbook.studies.cell.state_parameters`: the runner refuses rows without parameters.
    run: Callable[[ParametersT], "pd.DataFrame"]
    # The operation, role and metric of each value that a repetition must deliver.
    expected: Callable[[ParametersT], AbstractSet[Output]]
    # The name of the cell's data set.
    dataset: Callable[[ParametersT], str]
    # The product and topology of the servers that the cell needs.
    deployment: Callable[[ParametersT], tuple[str, Topology]] = lambda _: ("none", "none")
    # The modules that the cell imports by the names in its parameters, such as its database's
    # adapter. Their versions are part of the cell's identity.
    modules: Callable[[ParametersT], Sequence[str]] = lambda _: ()
    # Checks of a user's own records, made when a cell is planned.
    checks: Callable[[ParametersT], Sequence[RecordCheck]] = lambda _: ()
    # The products whose servers the cell starts itself, in addition to those of its deployment.
    other_products: Callable[[ParametersT], Sequence[str]] = lambda _: ()
    # The operation, role and metric of each value that some cell delivers, if `list_outputs` does
    # not find all of them.
    outputs: AbstractSet[Output] = frozenset()

    def list_outputs(self) -> AbstractSet[Output]:
        """Return the operation, role and metric of each value that some cell delivers.

        Where the study does not state them, they are those of the default parameters, and of the
        parameters with another level of one of them.
        """
        if self.outputs:
            return self.outputs
        found = {*self.expected(self.Parameters())}
        for name, field in self.Parameters.model_fields.items():
            for level in get_args(field.annotation):
                try:
                    found |= self.expected(self.Parameters.model_validate({name: level}))
                except ValidationError:  # this level needs another parameter
                    continue
        return found
