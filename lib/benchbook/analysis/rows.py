"""Typed rows, and the frames that are made of them where they leave the library."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

import pandas as pd


@dataclass(frozen=True)
class Row:
    """One row of a table: its fields are the table's columns."""

    @classmethod
    def columns(cls) -> list[str]:
        """Return the names of the fields."""
        return [field.name for field in fields(cls)]

    @classmethod
    def frame(cls, rows: Iterable[Self]) -> pd.DataFrame:
        """Return rows as a frame."""
        return pd.DataFrame([*map(vars, rows)], columns=cls.columns())

    @classmethod
    def of(cls, frame: pd.DataFrame) -> list[Self]:
        """Return the rows of a frame, without the columns that are no fields."""
        names = cls.columns()
        return [cls(**{name: row[name] for name in names}) for row in frame[names].to_dict("records")]
