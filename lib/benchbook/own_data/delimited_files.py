"""Delimited text: its header, its records and their types.

`benchbook.own_data.text_table` takes the rows apart, and `benchbook.own_data.text_columns` finds
the types of the columns. What is here is what a header and a record are.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Final

from benchbook.files.inputs import InputError
from benchbook.own_data.inference import read_datetime
from benchbook.own_data.opened_file import (
    FileDescription,
    KeyCheck,
    KnownField,
    LoadedRecords,
    OpenedFile,
    RecordReader,
    ReportProgress,
)
from benchbook.own_data.text_columns import (
    DecimalMark,
    TableColumn,
    TypedColumns,
    find_columns,
    guess_decimal_mark,
)
from benchbook.own_data.text_table import (
    END_ROW,
    Dialect,
    TextTable,
    fetch_rows,
    open_table,
    quote_sql,
)
from benchbook.schema import Document, Field
from benchbook.text.number_format import format_count

DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " "}
DECIMALS: Final[Mapping[str, DecimalMark]] = {"point": ".", "comma": ","}

_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*")

Cells = Sequence[str | None]
"""A row's texts: empty where a cell is empty, None where the row is too short to have it."""


@dataclass(frozen=True)
class Header:
    """The columns' names, and where the records begin."""

    names: Sequence[str]  # empty for a column without a name
    records_start: int  # rows before the first record
    has_comments: bool = False  # lines that begin with # are no records

    @property
    def is_comment(self) -> str:
        """The SQL that is true for a row that is a comment."""
        if self.has_comments:
            return "starts_with(c0, '#')"
        # A last name of a header cannot be missing in a record that merely begins so.
        return "starts_with(c0, '#') AND c1 IS NULL" if self.names[1:] else "false"

    def complete_names(self) -> list[str]:
        """Return a different name for each column, by its number if it has none."""
        completed: dict[str, None] = {}
        names, turns = {*self.names}, Counter[str]()
        for number, name in enumerate(self.names, 1):
            base = name or f"column_{number}"
            unique = base
            while unique in completed or (unique != base and unique in names):
                turns[base] += 1
                unique = f"{base}_{turns[base] + 1}"
            completed[unique] = None
        return [*completed]


@dataclass(frozen=True)
class TableLayout:
    """How `load` reads what `describe` found."""

    dialect: Dialect
    decimal: DecimalMark
    records_start: int
    dropped: str  # the SQL that is true for rows that are no records
    columns: Sequence[tuple[str, str, bool]]  # each `TableColumn` that has values


def describe(file: OpenedFile, report: ReportProgress) -> FileDescription:
    """Return the description of a file of delimited text.

    Raises `InputError`, with file and line, when it cannot be read.
    """
    with open_table(file, DELIMITERS.get(file.options.get("delimiter", ""), "")) as table:
        # Take the text apart into cells.
        report(0.1)
        dialect = table.read_cells()
        report(0.5)
        # Find the names, and keep the rows that are records.
        header = _find_header(table)
        _drop_rows(table, header)
        _check_widths(table, header)
        names = header.complete_names()
        if len(names) == 1 and "delimiter" not in file.options:
            table.note("It has one column: if it has others, state #delimiter=, as tab or pipe.")
        # Find the types of the columns, as all their values allow.
        columns = find_columns(table.connection, names)
        has_keys = _check_keys(table, columns)
        decimal = DECIMALS.get(file.options.get("decimal", ""))
        if decimal is None:
            # With commas as delimiters, a quoted number's comma may as well separate thousands.
            is_comma = dialect.delimiter == ","
            decimal = "." if is_comma else guess_decimal_mark(table.connection, columns)
        known, notes = _type_columns(table, header, columns, decimal, report)
        # Keep what `load` needs to read the same records again.
        typed = {field.path for field in known} | ({"_id"} if has_keys else set())
        layout = TableLayout(
            dialect,
            decimal,
            header.records_start,
            f"{header.is_comment} OR {_is_empty(dialect)} OR c0 = {quote_sql(END_ROW)}",
            [astuple(column) for column in columns if column.name in typed],
        )
        delimiters = {mark: name for name, mark in DELIMITERS.items()}
        decimals = {mark: name for name, mark in DECIMALS.items()}
        return FileDescription(
            format="delimited text",
            encoding=table.describe_encoding(),
            delimiter=delimiters.get(dialect.delimiter, dialect.delimiter),
            decimal=decimals[decimal],
            size=len(file.data),
            records=table.count_rows(),
            has_keys=has_keys,
            schema=tuple(Field(one.path, one.type, optional=one.absent > 0) for one in known),
            fields=tuple(known),
            notes=(*table.notes, *notes),
            dialect={"layout": json.dumps(asdict(layout))},
        )


def load(file: OpenedFile, description: FileDescription, count: int | None) -> LoadedRecords:
    """Return the first records of a file of delimited text, typed by its description."""
    # What `describe` kept: the layout, and SQL for each column's type.
    stated = json.loads(description.dialect["layout"])
    layout = TableLayout(**{**stated, "dialect": Dialect(**stated["dialect"])})
    types = {field.name: field.type for field in description.schema}
    # The key comes first, as text.
    columns = [TableColumn(*column) for column in layout.columns]
    columns.sort(key=lambda column: column.name != "_id")
    names = [column.name for column in columns]
    values = [
        column.convert(types.get(column.name, "string"), layout.decimal) for column in columns
    ]
    moments = {name for name in names if types.get(name) == "datetime"}
    with open_table(file, layout.dialect.delimiter) as table:
        # They take seconds for thousands of columns, and nothing here needs them.
        slow = "common_subexpressions,expression_rewriter,statistics_propagation"
        table.connection.execute(f"SET disabled_optimizers = '{slow}'")
        cells = table.select_cells(layout.dialect)
        numbered = f"SELECT *, row_number() OVER () - 1 AS position FROM ({cells})"
        kept = f"position >= {layout.records_start} AND NOT ({layout.dropped})"
        limit = "" if count is None else f"LIMIT {count}"
        query = f"SELECT {', '.join(['position', *values])} FROM ({numbered}) WHERE {kept} {limit}"
        # A value that is absent has no field.
        positions: list[int] = []
        records: list[Document] = []
        for position, *row in fetch_rows(table.connection, query):
            positions.append(position)
            pairs = zip(names, row, strict=True)
            record = {name: value for name, value in pairs if value is not None}
            for name in moments & record.keys():
                record[name] = read_datetime(record[name])
            records.append(record)
        return LoadedRecords(records, table.find_lines(layout.dialect, positions))


READER: Final = RecordReader(describe, load)


def _find_header(table: TextTable) -> Header:
    """Return the header: the first row that is as wide as most rows are.

    Lines before it are passed over: a title, a source, or comments that begin with #.
    """
    rows: Sequence[Cells] = table.fetch("SELECT * FROM cells ORDER BY rowid LIMIT 200")
    if not rows:
        raise InputError(str(table.path), "holds no record")
    # Comments before it, and then rows that are narrower than most.
    comments = _count_comments(rows)
    start = comments
    has_row_names = _has_row_names(rows[comments:])
    if not has_row_names:
        usual = _find_usual_width(rows[comments:])
        while _measure_width(rows[start]) < usual:
            start += 1
        # A row of numbers is a record: then the header is the first row, with fewer names.
        is_record = all(_NUMBER.fullmatch(cell) for cell in rows[start] if cell)
        if start > comments and (is_record or not rows[start + 1 :]):
            # The names of the last columns are empty, or missing.
            names_count = _count_cells(rows[comments])
            if names_count < usual:
                why = _explain_width(table, _measure_width(rows[start]), names_count)
                raise table.build_error(start, why)
            start = comments
    if start:
        line = table.find_line(start)
        table.note(f"The header is line {line}. Lines before it are left out: {rows[0][0]!r}.")
    names = [cell.strip() for cell in rows[start] if cell is not None]
    if has_row_names:
        names.insert(0, "")
        table.note("The first column has no name in the header, as R writes the names of rows.")
    header = Header(names, start + 1, has_comments=comments > 0)
    _note_names(table, header, rows[start + 1 :])
    return header


def _count_comments(rows: Sequence[Cells]) -> int:
    """Return how many lines at the beginning are comments: they begin with #.

    The last of them may be the header: ``#,name`` or ``# id,name``.
    """
    count = 0
    while count < len(rows) and (rows[count][0] or "").startswith("#"):
        count += 1
    if count in (0, len(rows)):
        return 0
    usual = _find_usual_width(rows[count:])
    wide = [at for at in range(count) if _measure_width(rows[at]) == usual]
    has_record = any(_NUMBER.fullmatch(cell or "") for cell in rows[count])
    has_mark = not (rows[0][0] or "").startswith("# ")
    if wide and (has_record or (count == 1 and has_mark)):
        return wide[-1]
    return count


def _has_row_names(rows: Sequence[Cells]) -> bool:
    """Return whether each row has one cell more than the header, as R's ``write.table`` writes."""
    header, records = rows[0], rows[1:]
    width = _count_cells(header)
    # One name above two values is rather a decimal comma.
    if not records or width == 1 or not all(header[:width]):
        return False
    has_number = any(_NUMBER.fullmatch(cell or "") for cell in records[0])
    are_wide = all(_count_cells(row) == width + 1 == _measure_width(row) for row in records)
    return has_number and are_wide


def _find_usual_width(rows: Sequence[Cells]) -> int:
    """Return the width that most rows have; of equal ones, the largest."""
    counts = Counter(filter(None, map(_measure_width, rows)))
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _measure_width(row: Cells) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return max((place for place, cell in enumerate(row, 1) if (cell or "").strip()), default=0)


def _count_cells(row: Cells) -> int:
    return sum(cell is not None for cell in row)


def _note_names(table: TextTable, header: Header, records: Sequence[Cells]) -> None:
    """Note names that come twice, and a header that looks like a record."""
    completed: dict[str, list[str]] = {}
    for name, unique in zip(header.names, header.complete_names(), strict=True):
        completed.setdefault(name, []).append(unique)
    for name, uniques in completed.items():
        if name and uniques[1:]:
            names = f"the columns are {', '.join(uniques)}"
            table.note(f"The name {name!r} comes {len(uniques)} times: {names}.")
    numbers = 0
    for place, name in enumerate(header.names):
        is_number = _NUMBER.fullmatch(name) is not None
        numbers += is_number
        if not is_number and all(row[place] != name for row in records):
            return
    if numbers:
        why = f"The header ({', '.join(header.names[:4])}) looks like a record"
        table.note(f"{why}: if it is one, put a line with the names before it.")


def _drop_rows(table: TextTable, header: Header) -> None:
    """Delete the rows that are no records."""
    table.connection.execute(f"DELETE FROM cells WHERE rowid < {header.records_start}")
    comments = table.count_rows(header.is_comment)
    if comments:
        lines = format_count(comments, "line")
        table.note(f"After the header, {lines} beginning with # left out.")
        table.connection.execute(f"DELETE FROM cells WHERE {header.is_comment}")
    if table.count_rows(_is_empty(table.dialect)):
        table.note("Rows whose cells are all empty were passed over.")
        table.connection.execute(f"DELETE FROM cells WHERE {_is_empty(table.dialect)}")
    if not table.count_rows():
        raise InputError(str(table.path), "holds no record below its header")


def _check_widths(table: TextTable, header: Header) -> None:
    """Raise `InputError` at a row with more values than names; note rows that are short."""
    # A row with more values than names has none to give them.
    names = len(header.names)
    places = range(table.dialect.width, names - 1, -1)
    values = (f"CASE WHEN trim(c{place}) <> '' THEN {place + 1} END" for place in places)
    behind = f"coalesce({', '.join(values)}, NULL)"
    rows = f"SELECT rowid, {behind} FROM cells WHERE {behind} IS NOT NULL ORDER BY rowid LIMIT 1"
    for row, last in table.fetch(rows):
        raise table.build_error(row, _explain_width(table, last, names))
    # The last values of a short row are absent.
    named = max((place for place, name in enumerate(header.names) if name), default=0)
    is_short = f"c{named} IS NULL"
    short = table.count_rows(is_short)
    if short:
        row = table.fetch(f"SELECT min(rowid) FROM cells WHERE {is_short}")[0][0]
        line = table.find_line(row)
        rows = format_count(short, "row")
        table.note(f"In {rows} the last values are missing (line {line}), and taken as absent.")


def _explain_width(table: TextTable, values: int, names: int) -> str:
    """Return why a row with more values than names is refused, and what to do."""
    counts = f"{format_count(values, 'value')} under {format_count(names, 'name')}"
    remedy = "quote its texts, or complete the header"
    other = f"another delimiter than {table.dialect.delimiter!r}"
    return f"{counts}: {remedy}; where all rows are so, state {other}"


def _is_empty(dialect: Dialect) -> str:
    """Return the SQL that is true for a row whose cells are all empty."""
    cells = ", ".join(f"c{place}" for place in range(dialect.width + 1))
    # Most rows have a first value.
    return f"CASE WHEN trim(c0) <> '' THEN false ELSE trim(concat({cells})) = '' END"


def _check_keys(table: TextTable, columns: Sequence[TableColumn]) -> bool:
    """Return whether the records have an ``_id``; raises `InputError` as `KeyCheck`."""
    cells = [column.cell for column in columns if column.name == "_id"]
    if not cells:
        return False
    keys = table.fetch(f"SELECT rowid, nullif({cells[0]}, '') FROM cells ORDER BY rowid")
    check = KeyCheck(table.path)
    for row, key in keys:
        try:
            check.check_keys([row], [key])
        except InputError as error:
            raise table.build_error(row, error.message) from error
    return keys[0][1] is not None


def _type_columns(
    table: TextTable,
    header: Header,
    columns: Sequence[TableColumn],
    decimal: DecimalMark,
    report: ReportProgress,
) -> tuple[list[KnownField], list[str]]:
    """Return the fields that have values, and the notes of their types."""
    types = TypedColumns(table.connection, decimal)
    records = table.count_rows()
    known = []
    typed = [place for place, column in enumerate(columns) if column.name != "_id"]
    found = types.find_types(
        [columns[place] for place in typed], lambda share: report(0.6 + 0.4 * share)
    )
    for place, (kind, present) in zip(typed, found, strict=True):
        name = columns[place].name
        if kind is not None:
            known.append(KnownField(name, kind, None, records, records - present, 0))
        elif header.names[place]:
            types.notes[f"{name} is empty in every row, and left out."] = None
    report(1)
    return known, types.list_notes()
