"""Days and moments that are written as text: what a column of texts can be read as."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from benchbook.schema import FieldType

CUT_NOTE: Final = "moments are kept in milliseconds; what is finer is cut off."


class TextColumn:
    """What is known of the texts at one place of a file."""

    def __init__(self, *, has_dates: bool) -> None:
        self.may_be_days = self.may_be_moments = has_dates
        self.is_cut = False  # a moment has microseconds

    def add(self, texts: Sequence[str]) -> None:
        """Take texts into account."""
        if self.may_be_days:
            self.may_be_days = _are_days(texts)
        if self.may_be_moments:
            moments = _read_moments(texts)
            self.may_be_moments = bool(moments)
            self.is_cut = self.is_cut or any(map(has_microseconds, moments))

    def find_type(self) -> FieldType:
        """Return the narrowest type for all texts."""
        if self.may_be_days:
            return "date"
        return "datetime" if self.may_be_moments else "string"


def read_datetime(value: Any) -> datetime:
    """Return a moment, or its ISO 8601 text, in UTC and cut to milliseconds."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(value)
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def has_microseconds(moment: datetime) -> bool:
    """Return whether a moment is finer than milliseconds."""
    return moment.microsecond % 1000 > 0


def _are_days(texts: Sequence[str]) -> bool:
    """Return whether all texts are days as 2024-03-18."""
    try:
        days = [*map(date.fromisoformat, texts)]
    except ValueError:
        return False
    return [*map(date.isoformat, days)] == [*texts]


def _read_moments(texts: Sequence[str]) -> list[datetime]:
    """Return the moments that texts are; none if one is not, or has no zone."""
    try:
        moments = [*map(datetime.fromisoformat, texts)]
        if not all(moment.tzinfo for moment in moments):
            return []
        # In UTC the first or the last may be beyond the years 1 to 9999.
        for moment in (min(moments), max(moments)):
            moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return []
    return moments
