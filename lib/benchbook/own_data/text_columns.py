"""The types of columns of texts, found by SQL over all their values."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from benchbook.own_data.inference import CUT_NOTE, has_microseconds, read_datetime
from benchbook.own_data.opened_file import ReportProgress
from benchbook.own_data.text_table import fetch_rows, quote_sql
from benchbook.schema import FieldType
from benchbook.text.number_format import format_count

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DecimalMark = Literal[".", ","]

ABSENT_MARKS: Final = (
    *("NA", "N/A", "n/a", "<NA>", "NaN", "nan", "-NaN", "-nan", "NaT", "NULL", "null", "None"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#NA", "#N/A", "#N/A N/A"),
    *("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
)
"""Texts that are no value in a column of numbers, booleans, days or moments.

R, Python, SQL and spreadsheets write them. In a column of texts they may be a text: NA is a
country, None a name.
"""

MYSQL_NULL: Final = r"\N"
"""The absent value of MySQL's and PostgreSQL's exports, in every column."""

_BOOLEANS: Final = "('true', 'True', 'TRUE', 'false', 'False', 'FALSE')"

# 007 and 1_000 are text.
_EXPONENT: Final = "([eE][+-]?[0-9]+)?"
_INTEGER: Final = "[+-]?(0|[1-9][0-9]*)"
_NUMBERS: Final[dict[DecimalMark, str]] = {
    mark: rf"[+-]?((0|[1-9][0-9]*)([{mark}][0-9]*)?|[{mark}][0-9]+){_EXPONENT}"
    for mark in (".", ",")
}
_THOUSANDS: Final = ". '\u2019\u00a0\u202f"
"""Marks between the thousands of numbers with a decimal comma."""
_GROUPED: Final = rf"[+-]?[1-9][0-9]{{0,2}}([{_THOUSANDS}][0-9]{{3}})+(,[0-9]*)?"
_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = "[0-9]{2}(:?[0-9]{2}(:?[0-9]{2}([.,][0-9]+)?)?)?"
_LOCAL_MOMENT: Final = f"[0-9]{{4}}-?[0-9]{{2}}-?[0-9]{{2}}[T ]{_TIME}"
_MOMENT: Final = f"{_LOCAL_MOMENT}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}}(:?[0-9]{{2}})?)?)"

_SIMILAR_TEXTS: Final = {
    "days": (
        "("
        + "|".join(rf"[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}][0-9]{{2,4}}" for mark in "./-")
        + "|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2})( [0-9:]+)?( ?[AaPp][Mm])?",
        "a day is written as 2024-03-18",
    ),
    "moments without a zone": (
        _LOCAL_MOMENT,
        "a moment is written with its zone, as 2024-03-18T09:30:00Z",
    ),
    "numbers": (
        "[-+(]?\\s?[$€£¥]?\\s?[0-9]{1,3}([,.' \u2019\u00a0\u202f]?[0-9]{3})*([.,][0-9]+)?"
        "\\s?[%$€£¥)]?",
        "write 1234.5, without unit and marks of thousands, or state #decimal=comma",
    ),
}
"""Texts that look like another type: their pattern, and how that type is written."""

Kind = Literal["absent", "integer", "large", "float", "boolean", "date", "datetime", "text"]

_NUMERIC: Final[frozenset[Kind]] = frozenset({"integer", "large", "float"})
_MOMENTS: Final[frozenset[Kind]] = frozenset({"datetime"})
_GROUPS: Final[dict[str, frozenset[Kind]]] = {
    "numbers": _NUMERIC,
    "true or false": frozenset({"boolean"}),
    "days": frozenset({"date"}),
    "moments": _MOMENTS,
}
_MIN_SHARE: Final = 0.5
"""The share of a column's values from which one that is kept as text is worth a note."""


@dataclass(frozen=True)
class TableColumn:
    """A column of a table of texts in a database."""

    name: str
    cell: str  # its name in the table ``cells``
    has_blanks: bool = False  # around some values
    skips_blanks: bool = False  # the blank at the beginning of all texts is left out

    @property
    def text(self) -> str:
        """The SQL of a value; NULL where it is absent."""
        value = f"ltrim({self.cell})" if self.skips_blanks else self.cell
        return f"nullif(nullif({value}, ''), '{MYSQL_NULL}')"

    @property
    def trimmed(self) -> str:
        """The SQL of a value without blanks around it."""
        # Trimming all values would take longer than all else.
        return f"trim({self.cell})" if self.has_blanks else self.cell

    def convert(self, kind: FieldType, decimal: DecimalMark) -> str:
        """Return the SQL of a value of a type; moments stay text, which `read_datetime` reads."""
        # A text that means that there is no value is none of the types; but NaN is a double.
        value = self.trimmed
        number = _write_number(value, decimal)
        conversions: dict[FieldType, str] = {
            "integer": f"try_cast({number} AS BIGINT)",
            "float": f"nullif(try_cast({number} AS DOUBLE), 'nan'::DOUBLE)",
            "boolean": f"CASE lower({value}) WHEN 'true' THEN true WHEN 'false' THEN false END",
            "date": f"try_cast({value} AS DATE)",
            "datetime": f"CASE WHEN {value}[1] BETWEEN '0' AND '9' THEN {value} END",
        }
        return conversions.get(kind, self.text)


_PEEKED_ROWS: Final = 1_000
"""Rows that tell whether a column's texts repeat."""

_BATCH_CELLS: Final = 100_000
"""Cells that a query reads if it reads several columns: planning it takes longer than reading."""


@dataclass(frozen=True)
class ColumnBatch:
    """Columns that one query reads, all with the same treatment of blanks.

    It reads rows of ``place``, the column's number in the batch, ``text`` and ``position``.
    """

    connection: "DuckDBPyConnection"
    columns: Sequence[TableColumn]

    @property
    def texts(self) -> str:
        """The SQL of the texts of all columns, with their places and positions."""
        cells = ", ".join(column.cell for column in self.columns)
        count = len(self.columns)
        if count == 1:
            return f"SELECT 0 AS place, {cells} AS text, rowid AS position FROM cells"
        pairs = f"unnest(range({count})) AS place, unnest([{cells}]) AS text"
        return f"SELECT {pairs}, rowid AS position FROM cells"

    @property
    def distinct_texts(self) -> str:
        """The SQL of the texts, with the number of their rows and the first position.

        Where texts repeat, each is read once.
        """
        first = f"SELECT text FROM ({self.texts}) LIMIT {_PEEKED_ROWS}"
        query = f"SELECT 2 * count(DISTINCT text) < count(*) FROM ({first})"
        row = self.connection.execute(query).fetchone()
        if row and row[0]:
            counted = "place, text, count(*) AS rows, min(position) AS position"
            return f"SELECT {counted} FROM ({self.texts}) GROUP BY place, text"
        return f"SELECT *, 1 AS rows FROM ({self.texts})"

    @property
    def sample(self) -> TableColumn:
        """A column that stands for all, with the SQL of their texts."""
        return replace(self.columns[0], cell="text")

    def find_places(self, condition: str) -> list[int]:
        """Return the places of the columns that have a text for which an SQL condition is true."""
        query = f"SELECT DISTINCT place FROM ({self.texts}) WHERE {condition}"
        return [place for (place,) in self.connection.execute(query).fetchall()]


def split_columns(
    connection: "DuckDBPyConnection", columns: Sequence[TableColumn]
) -> Iterator[ColumnBatch]:
    """Yield the columns in batches; a column with many rows is one."""
    row = connection.execute("SELECT count(*) FROM cells").fetchone()
    size = max(1, _BATCH_CELLS // max(1, row[0] if row else 1))
    alike: dict[tuple[bool, bool], list[TableColumn]] = {}
    for column in columns:
        alike.setdefault((column.has_blanks, column.skips_blanks), []).append(column)
    for group in alike.values():
        for start in range(0, len(group), size):
            yield ColumnBatch(connection, group[start : start + size])


def find_columns(connection: "DuckDBPyConnection", names: Sequence[str]) -> list[TableColumn]:
    """Return the columns with these names, and where blanks are around their values."""
    found = {f"c{place}": TableColumn(name, f"c{place}") for place, name in enumerate(names)}
    begins, ends = "starts_with(text, ' ')", "ends_with(text, ' ')"
    for batch in split_columns(connection, [*found.values()]):
        query = f"""
            SELECT place, bool_or({begins} OR {ends}), bool_and({begins})
            FROM ({batch.texts}) WHERE text <> '' GROUP BY place"""
        for place, some, all_begin in connection.execute(query).fetchall():
            column = batch.columns[place]
            found[column.cell] = replace(column, has_blanks=some, skips_blanks=all_begin)
    return [*found.values()]


@dataclass
class KindCounts:
    """How many values of a column are of each kind, with the first of each."""

    counts: dict[Kind, int] = field(default_factory=dict)
    examples: dict[Kind, str] = field(default_factory=dict)
    absent_marks: dict[str, int] = field(default_factory=dict)
    texts: int = 0  # values, if the column is one of texts
    has_inexact: bool = False  # a whole number that a double does not hold

    @property
    def present(self) -> int:
        """The number of values that are not absent."""
        return sum(self.counts.values()) - self.counts.get("absent", 0)

    def are_all(self, kinds: frozenset[Kind]) -> bool:
        """Return whether all present values, of which there are some, are of these kinds."""
        return self.present > 0 and self.counts.keys() - {"absent"} <= kinds

    @property
    def are_fractions(self) -> bool:
        """Whether all present values are numbers, some of them with fractions."""
        return self.are_all(_NUMERIC) and self.counts.get("float", 0) > 0


@dataclass
class TypedColumns:
    """The types of a table's columns, with a sentence for each change of values."""

    connection: "DuckDBPyConnection"
    decimal: DecimalMark
    notes: dict[str, None] = field(default_factory=dict)
    # How often each text is taken as absent, and in which columns.
    absent_marks: Counter[str] = field(default_factory=Counter)
    mark_columns: list[str] = field(default_factory=list)

    def find_types(
        self, columns: Sequence[TableColumn], report: ReportProgress
    ) -> Iterator[tuple[FieldType | None, int]]:
        """Yield the narrowest type for all values of each column, and how many values it has.

        The type is None if it has no value. The share that `report` gets is of these columns.
        """
        # Count the kinds of values in each column.
        kinds: dict[str, KindCounts] = {}
        for batch in split_columns(self.connection, columns):
            kinds |= count_kinds(batch, self.decimal)
            report(len(kinds) / len(columns))
        # Moments are checked by Python, which reads them later.
        written = [column for column in columns if kinds[column.cell].are_all(_MOMENTS)]
        finer = self._read_moments(written)
        # Choose the types; where it is text, say why.
        types: dict[str, FieldType | None] = {}
        reasons: dict[str, str] = {}
        for column in columns:
            cell = column.cell
            types[cell] = _choose_type(kinds[cell], cell in finer)
            if types[cell] == "string":
                reasons[cell] = _explain_text(kinds[cell])
        unclear = [column for column in columns if reasons.get(column.cell) == ""]
        reasons |= self._find_similar(unclear, kinds)
        for column in columns:
            cell, counted = column.cell, kinds[column.cell]
            if finer.get(cell):
                self.notes[f"{column.name}: {CUT_NOTE}"] = None
            if reasons.get(cell):
                self.notes[f"{column.name} {reasons[cell]}."] = None
            elif types[cell] != "string" and counted.absent_marks:
                self.absent_marks.update(counted.absent_marks)
                self.mark_columns.append(column.name)
            yield types[cell], counted.texts if types[cell] == "string" else counted.present

    def list_notes(self) -> list[str]:
        """Return the sentences, with one for all texts that are taken as absent."""
        if not self.absent_marks:
            return [*self.notes]
        marks = ", ".join(
            f"{mark!r} {format_count(count, 'time')}" for mark, count in self.absent_marks.items()
        )
        names = ", ".join(self.mark_columns[:3])
        others = self.mark_columns[3:]
        more = f" and {format_count(len(others), 'other column')}" if others else ""
        return [*self.notes, f"Taken as absent: {marks}, in {names}{more}."]

    def _read_moments(self, columns: Sequence[TableColumn]) -> dict[str, bool]:
        """Return the columns of moments, not only texts like ones; and if some are cut."""
        finer = {column.cell: False for column in columns}
        for batch in split_columns(self.connection, columns):
            moment = batch.sample.convert("datetime", self.decimal)
            query = (
                f"SELECT place, {moment} AS moment FROM ({batch.texts}) WHERE moment IS NOT NULL"
            )
            cells = [column.cell for column in batch.columns]
            for place, text in fetch_rows(self.connection, query):
                cell = cells[place]
                if cell not in finer:
                    continue
                try:
                    read_datetime(text)
                except (ValueError, OverflowError):
                    del finer[cell]
                    if finer.keys().isdisjoint(cells):
                        break
                else:
                    finer[cell] = finer[cell] or has_microseconds(datetime.fromisoformat(text))
        return finer

    def _find_similar(
        self, columns: Sequence[TableColumn], kinds: Mapping[str, KindCounts]
    ) -> dict[str, str]:
        """Return why the columns that look like another type are kept as text."""
        reasons: dict[str, str] = {}
        for name, (pattern, remedy) in _SIMILAR_TEXTS.items():
            examples = {
                column: kinds[column.cell].examples.get("text", "")
                for column in columns
                if column.cell not in reasons
            }
            alike = [
                column
                for column, example in examples.items()
                if not example.isdecimal() and re.fullmatch(pattern, example)
            ]
            for batch in split_columns(self.connection, alike):
                value = batch.sample.trimmed
                like = f"regexp_full_match({value}, {quote_sql(pattern)})"
                is_other = f"(NOT {like} OR regexp_full_match({value}, '[0-9]+'))"
                others = batch.find_places(f"{is_other} AND NOT {_is_absent(value)}")
                for place, column in enumerate(batch.columns):
                    if place not in others:
                        why = f"looks like {name} ({examples[column]!r}), and is kept as text"
                        reasons[column.cell] = f"{why}: {remedy}"
        return reasons


def _choose_type(kinds: KindCounts, are_moments: bool) -> FieldType | None:
    if not kinds.present:
        return None
    for single in ("integer", "boolean", "date"):
        if kinds.are_all(frozenset({single})):
            return single
    if are_moments:
        return "datetime"
    return "float" if kinds.are_fractions and not kinds.has_inexact else "string"


def _explain_text(kinds: KindCounts) -> str:
    """Return why a column that is mostly another type is kept as text; empty if it is not."""
    if kinds.are_all(frozenset({"integer", "large"})):
        return "holds integers beyond 2^63, which few stores hold: they are kept as text"
    if kinds.are_fractions:
        return "holds fractions, and integers that a double does not hold: it is kept as text"
    for name, group in _GROUPS.items():
        alike = sum(kinds.counts.get(kind, 0) for kind in group)
        others = [kind for kind in kinds.counts if kind not in {*group, "absent"}]
        if others and alike >= _MIN_SHARE * kinds.present:
            example = kinds.examples[others[0]]
            rows = format_count(kinds.present - alike, "row")
            kept = f"holds {name}, except in {rows} ({example!r}), and is kept as text"
            return f"{kept}: empty or correct those cells"
    return ""


def guess_decimal_mark(
    connection: "DuckDBPyConnection", columns: Sequence[TableColumn]
) -> DecimalMark:
    """Return the decimal mark with which more columns are numbers with fractions."""
    fractions = dict.fromkeys(_NUMBERS, 0)
    for batch in split_columns(connection, columns):
        for mark in _NUMBERS:
            places = batch.find_places(f"contains(text, '{mark}')")
            if places:
                marked = ColumnBatch(connection, [batch.columns[place] for place in places])
                for kinds in count_kinds(marked, mark).values():
                    fractions[mark] += kinds.are_fractions
    return "," if fractions[","] > fractions["."] else "."


def count_kinds(batch: ColumnBatch, decimal: DecimalMark) -> dict[str, KindCounts]:
    """Return how many values of each column are of each kind, with a decimal mark."""
    value = batch.sample.trimmed
    is_number = f"regexp_full_match(value, {quote_sql(_NUMBERS[decimal])})"
    places = batch.find_places("contains(text, ',')") if decimal == "," else []
    if places:
        # Points separate thousands only in a column that also has decimal commas.
        is_grouped = f"regexp_full_match(value, {quote_sql(_GROUPED)})"
        is_number = f"({is_number} OR (place IN {(*places, -1)} AND {is_grouped}))"
    query = f"""
        SELECT place, kind, CASE WHEN kind = 'absent' THEN value END AS mark,
            sum(rows), sum(rows) FILTER (is_text), arg_min(value, position),
            bool_or(kind IN ('integer', 'large') AND abs(try_cast(number AS DOUBLE)) > 1e15
                AND coalesce(try_cast(number AS HUGEINT)
                    <> try_cast(try_cast(number AS DOUBLE) AS HUGEINT), true))
        FROM (
            SELECT *, {value} AS value, {_write_number(value, decimal)} AS number,
                {batch.sample.text} IS NOT NULL AS is_text, CASE
                WHEN {_is_absent(value)} THEN 'absent'
                WHEN isfinite(try_cast(number AS DOUBLE)) AND {is_number}
                THEN CASE
                    WHEN NOT regexp_full_match(number, '{_INTEGER}') THEN 'float'
                    WHEN try_cast(number AS BIGINT) IS NULL THEN 'large'
                    ELSE 'integer' END
                WHEN regexp_full_match(value, '{_INTEGER}') THEN 'large'
                WHEN value IN {_BOOLEANS} THEN 'boolean'
                WHEN NOT value[1] BETWEEN '0' AND '9' OR value < '0001' THEN 'text'
                WHEN regexp_full_match(value, '{_DAY}')
                    AND try_cast(value AS DATE) IS NOT NULL THEN 'date'
                WHEN regexp_full_match(value, '{_MOMENT}') THEN 'datetime'
                ELSE 'text' END AS kind
            FROM ({batch.distinct_texts}))
        GROUP BY place, kind, mark ORDER BY place, kind, min(position)"""
    found = {column.cell: KindCounts() for column in batch.columns}
    for row in batch.connection.execute(query).fetchall():
        place, kind, mark, rows, texts, example, is_inexact = row
        kinds = found[batch.columns[place].cell]
        kinds.counts[kind] = kinds.counts.get(kind, 0) + int(rows)
        kinds.examples.setdefault(kind, example)
        kinds.texts += int(texts or 0)
        kinds.has_inexact = kinds.has_inexact or bool(is_inexact)
        if mark:
            kinds.absent_marks[mark] = int(rows)
    return found


def _write_number(value: str, decimal: DecimalMark) -> str:
    """Return the SQL of a number's text with a decimal point and without marks of thousands."""
    if decimal == ".":
        return value
    marks = _THOUSANDS.replace("'", "''")
    return f"translate({value}, ',{marks}', '.')"


def _is_absent(value: str) -> str:
    """Return the SQL that is true where a text means that there is no value."""
    marks = ", ".join(f"'{mark}'" for mark in ("", MYSQL_NULL, *ABSENT_MARKS))
    return f"coalesce({value}, '') IN ({marks})"
