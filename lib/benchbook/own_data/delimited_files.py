"""Delimited text: its header, its records and their types.

`benchbook.own_data.table_rows` takes the rows apart, and `benchbook.own_data.text_columns` finds
the types of the columns. What is here is what a header and a record are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import (
    Encoding,
    EncodingError,
    OpenedFile,
    ReadRecords,
    is_nearly_utf8,
    take_records,
)
from benchbook.own_data.table_rows import (
    DELIMITERS,
    Dialect,
    QuoteError,
    Row,
    iterate_rows,
    list_dialects,
)
from benchbook.own_data.text_columns import (
    MYSQL_NULL,
    DecimalMark,
    TextColumns,
    guess_decimal_mark,
)
from benchbook.text.number_format import format_count

DECIMALS: Final[Mapping[str, DecimalMark]] = {"point": ".", "comma": ","}

_HEADER_ROWS: Final = 200
"""Rows among which the header is looked for."""

_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*")


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first records of a file of delimited text; None: all.

    What is not UTF-8 is taken as cp1252 or latin-1, which spreadsheets of western Europe and
    America write. Raises `InputError`, with file and line, when it cannot be read.
    """
    encoding = file.encoding
    try:
        return _read_encoded(file, encoding, count)
    except EncodingError:
        if encoding.is_stated or is_nearly_utf8(file.head):
            raise
    line, byte = file.find_wrong_byte()
    codec, other = "cp1252", "latin-1"
    try:
        found = _read_encoded(file, Encoding(codec, codec), count)
    except EncodingError:
        codec, other = other, codec
        found = _read_encoded(file, Encoding(codec, codec), count)
    why = f"It is not UTF-8 (line {line}, byte 0x{byte:02X}), and is read as {codec}"
    remedy = f"if letters are wrong, state #encoding={other}, or save it as UTF-8"
    return replace(found, notes={f"{why}: {remedy}.": None, **found.notes})


def _read_encoded(file: OpenedFile, encoding: Encoding, count: int | None) -> ReadRecords:
    """Return the first records by the first dialect that has quotes where the text has them."""
    refusal = None
    for dialect in list_dialects(file, file.decode_head(encoding)):
        try:
            with file.open_text(encoding) as text:
                table = _Table(file, dialect)
                rows = table.iterate_records(iterate_rows(file, text, dialect))
                records, lines, is_whole = take_records(rows, count)
        except QuoteError as error:
            refusal = refusal or error
            continue
        if not records:
            raise InputError(str(file.path), "holds no record below its header")
        found = table.type_records(records)
        words = file.describe_encoding(encoding)
        return replace(found, lines=lines, is_whole=is_whole, encoding=words)
    raise refusal or AssertionError("there is a first dialect")


class _Table:
    """A table, whose header is known once its first record is read."""

    def __init__(self, file: OpenedFile, dialect: Dialect) -> None:
        self._file, self._dialect = file, dialect
        self._names: list[str] = []  # empty for a column without a name
        self._comments = self._empty_rows = self._short_rows = 0
        self._first_short_line = 0
        # A sentence for each change of values.
        self._notes: dict[str, None] = {dialect.note: None} if dialect.note else {}

    def iterate_records(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows below the header that are records.

        Raises `InputError`, with the line, at a row with more values than names.
        """
        first = [*islice(rows, _HEADER_ROWS)]
        if not first:
            raise InputError(str(self._file.path), "holds no record")
        comments = _count_comments([row for _, row in first])
        start = self._find_header(first, comments)
        names = len(self._names)
        named = max((place for place, name in enumerate(self._names) if name), default=0)
        for line, row in chain(first[start + 1 :], rows):
            width = _measure_width(row)
            # A last name of a header cannot be missing in a record that merely begins so.
            is_comment = row[0].startswith("#") and (comments or (names > 1 and len(row) == 1))
            if is_comment:
                self._comments += 1
            elif not width:
                self._empty_rows += 1
            elif width > names:
                raise self._explain_width(line, width, names)
            else:
                if len(row) <= named:
                    self._short_rows += 1
                    self._first_short_line = self._first_short_line or line
                yield line, row

    def _find_header(self, rows: Sequence[Row], comments: int) -> int:
        """Return the number of the header row: the first that has as many cells as most records.

        Lines before it are passed over: a title, a source, or comments that begin with #.
        """
        cells = [row for _, row in rows]
        start = comments
        has_row_names = _has_row_names(cells[comments:])
        if not has_row_names:
            usual = _find_usual_width(cells[comments:])
            is_before = True
            while is_before and start < len(cells) - 1:
                is_before = len(cells[start]) < usual or _is_title(cells[start:])
                start += is_before
            line, first = rows[start]
            names = _measure_width(cells[comments])
            # A row of numbers is a record: then the header is the first row, with fewer names.
            is_record = all(_NUMBER.fullmatch(cell) for cell in first if cell)
            is_record = is_record or _is_short_header(cells[comments], usual)
            if start > comments and (is_record or not cells[start + 1 :]):
                if names < usual:
                    raise self._explain_width(line, _measure_width(first), names)
                start = comments
        self._names = [cell.strip() for cell in cells[start]]
        if start:
            left_out = f"Lines before it are left out: {cells[0][0]!r}"
            taken = ", ".join(self._names[:3])
            note = f"The header is line {rows[start][0]}. {left_out}. Its names are {taken}."
            self._notes[note] = None
        if has_row_names:
            self._names.insert(0, "")
            note = "The first column has no name in the header, as R writes the names of rows."
            self._notes[note] = None
        self._note_names(cells[start + 1 :])
        return start

    def _note_names(self, records: Sequence[Sequence[str]]) -> None:
        """Note names that come twice, and a header that looks like a record."""
        completed: dict[str, list[str]] = {}
        for name, unique in zip(self._names, _complete_names(self._names), strict=True):
            completed.setdefault(name, []).append(unique)
        for name, uniques in completed.items():
            if name and uniques[1:]:
                names = f"the columns are {', '.join(uniques)}"
                self._notes[f"The name {name!r} comes {len(uniques)} times: {names}."] = None
        numbers = 0
        for place, name in enumerate(self._names):
            is_number = _NUMBER.fullmatch(name) is not None
            numbers += is_number
            is_repeated = any(place < len(row) and row[place] == name for row in records)
            if not is_number and not is_repeated and MYSQL_NULL not in self._names:
                return
        if numbers or MYSQL_NULL in self._names:
            why = f"The header ({', '.join(self._names[:4])}) looks like a record"
            self._notes[f"{why}: if it is one, put a line with the names before it."] = None

    def _explain_width(self, line: int, values: int, names: int) -> InputError:
        """Return why a row with more values than names is refused, and what to do."""
        counts = f"{format_count(values, 'value')} under {format_count(names, 'name')}"
        remedy = "quote its texts, or complete the header"
        other = f"another delimiter than {self._dialect.delimiter!r}"
        why = f"{counts}: {remedy}; where all rows are so, state {other}"
        return InputError(f"{self._file.path}:{line}", why)

    def type_records(self, rows: Sequence[Sequence[str]]) -> ReadRecords:
        """Return rows as records of integers, floats, booleans and texts."""
        if self._comments:
            lines = format_count(self._comments, "line")
            self._notes[f"After the header, {lines} beginning with # left out."] = None
        if self._empty_rows:
            self._notes["Rows whose cells are all empty were passed over."] = None
        if self._short_rows:
            short = f"{format_count(self._short_rows, 'row')} the last values are missing"
            where = f"(line {self._first_short_line})"
            self._notes[f"In {short} {where}, and taken as absent."] = None
        names = _complete_names(self._names)
        if len(names) == 1 and "delimiter" not in self._file.options:
            note = "It has one column: if it has others, state #delimiter=, as tab or pipe."
            self._notes[note] = None
        # The texts of each column, None where a row is too short.
        texts: dict[str, list[str | None]] = {}
        for place, name in enumerate(names):
            column = [row[place] if place < len(row) else None for row in rows]
            if all(cell.startswith(" ") for cell in column if cell):
                column = [cell and cell.lstrip(" ") for cell in column]
            texts[name] = column
        decimal = self._find_decimal(texts)
        columns = TextColumns(decimal)
        values: dict[str, list[object]] = {}
        for stated, (name, column) in zip(self._names, texts.items(), strict=True):
            if name == "_id":
                values[name] = [None if cell in ("", MYSQL_NULL) else cell for cell in column]
                continue
            found = columns.read_column(name, column)
            if any(value is not None for value in found):
                values[name] = found
            elif stated:
                columns.notes[f"{name} is empty in every row, and left out."] = None
        records: list[dict[str, object]] = [{} for _ in rows]
        for name, found in values.items():
            for record, value in zip(records, found, strict=True):
                if value is not None:
                    record[name] = value
        return ReadRecords(
            "delimited text",
            records,
            [],
            is_whole=False,
            notes={**self._notes, **dict.fromkeys(columns.list_notes())},
            delimiter=_name_mark(DELIMITERS, self._dialect.delimiter),
            decimal=_name_mark(DECIMALS, decimal),
            names=tuple(values),
        )

    def _find_decimal(self, texts: Mapping[str, Sequence[str | None]]) -> DecimalMark:
        """Return the mark before the fractions of numbers: as stated, or by the columns."""
        stated = DECIMALS.get(self._file.options.get("decimal", ""))
        # With commas as delimiters, a quoted number's comma may as well separate thousands.
        if stated or self._dialect.delimiter == ",":
            return stated or "."
        return guess_decimal_mark([[cell for cell in column if cell] for column in texts.values()])


def _complete_names(stated: Sequence[str]) -> list[str]:
    """Return a different name for each column, by its number if it has none."""
    completed: dict[str, None] = {}
    turns = Counter[str]()
    for number, name in enumerate(stated, 1):
        base = name or f"column_{number}"
        unique = base
        while unique in completed or (unique != base and unique in stated):
            turns[base] += 1
            unique = f"{base}_{turns[base] + 1}"
        completed[unique] = None
    return [*completed]


def _count_comments(rows: Sequence[Sequence[str]]) -> int:
    """Return how many lines at the beginning are comments: they begin with #.

    The last of them may be the header: ``#,name`` or ``# id,name``.
    """
    count = 0
    while count < len(rows) and rows[count][0].startswith("#"):
        count += 1
    if count in (0, len(rows)):
        return 0
    usual = _find_usual_width(rows[count:])
    wide = [at for at in range(count) if _measure_width(rows[at]) == usual]
    has_record = any(map(_NUMBER.fullmatch, rows[count]))
    has_mark = not rows[0][0].startswith("# ")
    if wide and (has_record or (count == 1 and has_mark)):
        return wide[-1]
    return count


def _has_row_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row has one cell more than the header, as R's ``write.table`` writes."""
    header, records = rows[0], rows[1:]
    width = len(header)
    # One name above two values is rather a decimal comma.
    if not records or width == 1 or not all(header):
        return False
    has_number = any(map(_NUMBER.fullmatch, records[0]))
    return has_number and all(len(row) == width + 1 == _measure_width(row) for row in records)


def _is_short_header(row: Sequence[str], usual: int) -> bool:
    """Return whether a row that is one name too short is a header even so: no title is like it."""
    is_text = not any(map(_NUMBER.fullmatch, row))
    return len(row) == usual - 1 > 1 and all(row) and len({*row}) == len(row) and is_text


def _is_title(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is empty, or has one text above a row of names."""
    filled = [*filter(str.strip, rows[0])]
    if not filled or len(rows) < 2:
        return not filled and len(rows) > 1
    next_row = next(filter(_measure_width, rows[1:]), [])
    are_names = len(next_row) > 2 and all(next_row) and not any(map(_NUMBER.fullmatch, next_row))
    return len(filled) == 1 and are_names


def _find_usual_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the width that most rows have; of equal ones, the largest."""
    counts = Counter(filter(None, map(_measure_width, rows)))
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _measure_width(row: Sequence[str]) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return max((place * bool(cell.strip()) for place, cell in enumerate(row, 1)), default=0)


def _name_mark(names: Mapping[str, str], mark: str) -> str:
    """Return the word of an option for a mark; the mark if it has none."""
    return next((name for name, other in names.items() if other == mark), mark)
