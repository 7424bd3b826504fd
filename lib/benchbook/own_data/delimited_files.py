"""Delimited text, by Python's csv: its dialect, its header and its records.

`benchbook.own_data.text_columns` finds the types of the columns.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any, Final

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import (
    HEAD_BYTES,
    CutOffError,
    EncodingError,
    FirstRows,
    NumberedRows,
    OpenedFile,
    ReadRecords,
    describe_codec,
)
from benchbook.own_data.text_columns import (
    DECIMALS,
    MYSQL_NULL,
    TextColumns,
    guess_decimal_mark,
)
from benchbook.text.number_format import format_count

DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " "}
QUOTES: Final = {"double": '"', "single": "'", "none": ""}

_PEEKED_ROWS: Final = 200
"""Rows by which the dialect and the header are found."""

_MIN_ALIKE: Final = 0.5
"""The share of rows with the same width, up to which blanks may be the delimiter."""

LONGEST_TEXT: Final = 2**25

_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*")
_ONLY_LATIN_1: Final = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
"""Bytes that are no character of cp1252."""

_NO_QUOTES_NOTE: Final = (
    "Quotes are part of the texts: its tabs delimit without them. If they do not, state "
    "#quote=double."
)


class QuoteError(InputError):
    """A quote is not where the dialect has one."""


class _OpenQuoteError(CutOffError, QuoteError):
    """A quote is not closed up to the end of the text."""


@dataclass(frozen=True)
class Dialect:
    """How a text is taken apart."""

    delimiter: str
    quote: str = '"'  # empty: none
    escapes: bool = False  # a backslash is before a quote inside of a text
    aligns: bool = False  # several blanks are one delimiter
    note: str = ""  # about quotes

    @property
    def options(self) -> dict[str, Any]:
        """The options of Python's csv that its readers and writers share."""
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote or None,
            "quoting": csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
        }


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first records of a file of delimited text; None: all.

    What is not UTF-8 is taken as cp1252 or latin-1, which spreadsheets of western Europe and
    America write. Raises `InputError`, with file and line, when it cannot be read.
    """
    try:
        return _read_encoded(file, file.codec, count)
    except EncodingError as error:
        if not error.place:
            raise
        place = error.place
    codec, other = "cp1252", "latin-1"
    if _ONLY_LATIN_1.search(file.head):
        codec, other = other, codec
    found = _read_encoded(file, codec, count)
    why = f"It is not UTF-8 ({place}), and is read as {codec}"
    remedy = f"if letters are wrong, state #encoding={other}, or save it as UTF-8"
    return replace(found, notes={f"{why}: {remedy}.": None, **found.notes})


def find_header(file: OpenedFile) -> tuple[Dialect, int, list[str]]:
    """Return a text's dialect, the line of its header, and the names there."""
    table, _ = _take_rows(file, file.codec, _PEEKED_ROWS)
    return table.dialect, table.header_line, table.names


def _read_encoded(file: OpenedFile, codec: str, count: int | None) -> ReadRecords:
    """Return the first records of a text in an encoding."""
    table, found = _take_rows(file, codec, count)
    return replace(table.type_records(found.rows), lines=found.lines, is_whole=found.is_whole)


def _take_rows(file: OpenedFile, codec: str, count: int | None) -> "tuple[_Table, FirstRows]":
    """Return the first rows by the first dialect that has quotes where the text has them."""
    csv.field_size_limit(LONGEST_TEXT)
    refusal = None
    for dialect in _list_dialects(file, file.decode_head(codec)):
        try:
            table = _Table(file, dialect, codec)
            found = file.take_text_rows(count, table.iterate_records, codec)
        except QuoteError as error:
            refusal = refusal or error
            continue
        if not found.rows:
            raise InputError(str(file.path), "holds no record below its header")
        return table, found
    raise refusal or AssertionError("there is a first dialect")


def _list_dialects(file: OpenedFile, head: str) -> Iterator[Dialect]:
    """Yield the dialect of a text by its beginning, then others if quotes are not as in it."""
    delimiter = DELIMITERS.get(file.options.get("delimiter", ""), "")
    # Excel's own line for the delimiter.
    if not delimiter and head[:4].lower() == "sep=":
        delimiter = head[4:5]
    delimiter = delimiter or _find_delimiter(head)
    first = Dialect(delimiter, aligns=delimiter == " " and '"' not in head)
    if "quote" in file.options:
        yield replace(first, quote=QUOTES[file.options["quote"]])
        return
    # Single quotes, where only they make all rows equally wide.
    single = replace(first, quote="'", note="Texts are in single quotes in it.")
    if "'" in head and delimiter != " ":
        widths = [{len(row) for _, row in _peek_rows(head, each)} for each in (first, single)]
        if len(widths[1]) == 1 < len(widths[0]):
            yield single
    yield first
    yield replace(first, escapes=True, note=r"Quotes inside of texts are written as \" in it.")
    if delimiter == "\t":
        yield replace(first, quote="", note=_NO_QUOTES_NOTE)


def _find_delimiter(head: str) -> str:
    """Return the delimiter by which most rows at the beginning have the same width."""
    best, found = (0.0, 0), ","
    for delimiter in ",;\t| ":
        aligns = delimiter == " " and '"' not in head
        rows = [row for _, row in _peek_rows(head, Dialect(delimiter, aligns=aligns))]
        counts = Counter(len(row) for row in rows if row[1:])
        if not counts:
            continue
        # Of equal shares, the one whose first row is wider.
        score = max(counts.values()) / len(rows), len(rows[0])
        # Blanks are in most texts: where they delimit, rows are alike and a column has numbers.
        if delimiter == " ":
            widths = {len(row) for row in rows[1:]}
            is_alike = widths in ({len(rows[0])}, {len(rows[0]) + 1}) and len(rows[0]) > 1
            columns = [*zip(*rows[1:], strict=False)]
            has_number = '"' in head or any(all(map(_NUMBER.fullmatch, one)) for one in columns)
            score = (_MIN_ALIKE, len(rows[0])) if is_alike and has_number else (0.0, 0)
        if score > best:
            best, found = score, delimiter
    return found


def _peek_rows(head: str, dialect: Dialect) -> list[tuple[int, list[str]]]:
    """Return the rows at the beginning of a text; the last one may be cut off."""
    rows = [*islice(_iterate_rows(head, dialect, strict=False), _PEEKED_ROWS)]
    is_cut = len(head) > HEAD_BYTES // 4 and len(rows) < _PEEKED_ROWS
    return rows[:-1] if is_cut and rows[1:] else rows


def _iterate_rows(
    text: str, dialect: Dialect, *, strict: bool, path: str = ""
) -> NumberedRows[list[str]]:
    """Yield the rows that are not blank, with their last lines.

    Raises `InputError`, with the line, at a row that cannot be taken apart.
    """
    # The line for the delimiter is not a row, and Ctrl-Z ends a text of old systems.
    text = re.sub(r"\A(?i:sep=)[^\r\n]*|\x1a\Z", "", text)
    if dialect.escapes:
        text = re.sub(r'\\(?!["\\])', r"\\\\", text)
    if dialect.aligns:
        text = re.sub(r"(?m)^ +| +$", "", re.sub(r"[ \t]+", " ", text))
    rows = csv.reader(
        io.StringIO(text, newline=""),
        **dialect.options,
        escapechar="\\" if dialect.escapes else None,
        skipinitialspace=dialect.delimiter != " " and f'{dialect.delimiter} "' in text,
        strict=strict,
    )
    while True:
        where = f"{path}:{rows.line_num + 1}"
        try:
            row = next(rows, None)
        except csv.Error as error:
            if "unexpected end" in str(error):
                why = "not CSV: a quote that opens in this row is never closed: close it"
                raise _OpenQuoteError(where, why) from error
            why = (
                "not CSV: a quote is inside of a quoted text, or stays open: double or close it; "
                "if all quotes are parts of the texts, state #quote=none"
            )
            if "field larger" in str(error):
                why = f"not CSV: a text is longer than {LONGEST_TEXT:,} characters"
            raise QuoteError(where, why) from error
        if row is None:
            return
        if (
            strict
            and dialect.delimiter == "\t"
            and any("\t" in cell and "\n" in cell for cell in row)
        ):
            why = "not CSV: a quoted text has a tab and a line end: close the quote before them"
            raise QuoteError(where, why)
        if strict and any("\0" in cell for cell in row):
            why = "holds the character NUL: it is not text, or in UTF-16 without its mark"
            raise InputError(where, f"{why} (state #encoding=utf-16)")
        # A blank line is not a row.
        if row:
            yield rows.line_num, row


class _Table:
    """A table of one dialect: its header, and what is left out of it."""

    def __init__(self, file: OpenedFile, dialect: Dialect, codec: str) -> None:
        self.dialect, self._file, self._codec = dialect, file, codec
        # A sentence for each change of values.
        self._notes: dict[str, None] = {dialect.note: None} if dialect.note else {}
        # How often a row is left out or completed, by the reason.
        self._changes: Counter[str] = Counter()
        rows = _peek_rows(file.decode_head(codec), dialect)
        if not rows:
            raise InputError(str(file.path), "holds no record")
        self._header, self._usual = _find_header([row for _, row in rows])
        self.header_line, header = rows[self._header]
        self.names = [name.strip() for name in header]  # empty for a column without a name
        if self._header:
            left_out = f"Lines before it are left out: {rows[0][1][0]!r}"
            names = ", ".join(self.names[:3])
            self._notes[
                f"The header is line {self.header_line}. {left_out}. Its names are {names}."
            ] = None
        # Does the header look like a record?
        are_values = []
        for place, name in enumerate(self.names):
            texts = [row[place] for _, row in rows[self._header + 1 :] if place < len(row)]
            are_values.append(_NUMBER.fullmatch(name) is not None or name in texts)
        has_number = any(map(_NUMBER.fullmatch, self.names))
        if (has_number and all(are_values)) or MYSQL_NULL in self.names:
            why = f"The header ({', '.join(self.names[:4])}) looks like a record"
            self._notes[f"{why}: if it is one, put a line with the names before it."] = None

    def iterate_records(self, text: str) -> NumberedRows[list[str]]:
        """Yield the rows below the header that are records.

        Raises `InputError`, with the line, at a row with more values than names.
        """
        self._changes.clear()
        path = str(self._file.path)
        rows = _iterate_rows(text, self.dialect, strict=True, path=path)
        named = max((place for place, name in enumerate(self.names) if name), default=0)
        for line, row in islice(rows, self._header + 1, None):
            width = _measure_width(row)
            if _is_comment(row, self._usual):
                self._changes["beginning with #: left out"] += 1
            elif not width:
                self._changes["of empty cells only: left out"] += 1
            elif width > len(self.names):
                names = format_count(len(self.names), "name")
                remedy = "quote its texts, or complete the header"
                other = f"state another delimiter than {self.dialect.delimiter!r}"
                why = f"{format_count(width, 'value')} under {names}: {remedy}"
                raise InputError(f"{path}:{line}", f"{why}; where all rows are so, {other}")
            else:
                self._changes["without the last values: taken as absent"] += len(row) <= named
                yield line, row

    def type_records(self, rows: Sequence[Sequence[str]]) -> ReadRecords:
        """Return rows as records of integers, floats, booleans and texts."""
        for change, number in self._changes.items():
            if number:
                self._notes[f"{format_count(number, 'row')} {change}."] = None
        names = _complete_names(self.names)
        if len(names) == 1 and "delimiter" not in self._file.options:
            note = "It has one column: if it has others, state #delimiter=, as tab or pipe."
            self._notes[note] = None
        # The texts of each column, None where a row is too short.
        texts: list[list[str | None]] = []
        for place in range(len(names)):
            column = [row[place] if place < len(row) else None for row in rows]
            if all(cell.startswith(" ") for cell in column if cell):
                column = [cell and cell.lstrip(" ") for cell in column]
            texts.append(column)
        # With commas as delimiters, a quoted number's comma may as well separate thousands.
        decimal = DECIMALS.get(self._file.options.get("decimal", ""))
        if decimal is None:
            decimal = "." if self.dialect.delimiter == "," else guess_decimal_mark(texts)
        columns = TextColumns(decimal)
        read: list[str] = []
        records: list[dict[str, object]] = [{} for _ in rows]
        for name, stated, column in zip(names, self.names, texts, strict=True):
            values: list[object] = [None if cell in ("", MYSQL_NULL) else cell for cell in column]
            if name != "_id":
                values = columns.read_column(name, column)
            if all(value is None for value in values):
                if stated:
                    columns.notes[f"{name} is empty in every row, and left out."] = None
                continue
            read.append(name)
            for record, value in zip(records, values, strict=True):
                if value is not None:
                    record[name] = value
        words = {mark: word for word, mark in {**DELIMITERS, **DECIMALS}.items()}
        delimiter = self.dialect.delimiter
        marks = f"delimiter {words.get(delimiter, delimiter)}"
        marks = f"{describe_codec(self._codec)}, {marks}, decimal {words[decimal]}"
        notes = {**self._notes, **dict.fromkeys(columns.list_notes())}
        return ReadRecords("delimited text", records, [], False, notes, marks, read)


def _find_header(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the number of the header row, and the width of most rows.

    It is the first row that is as wide as most: a title, a source and comments are before it.
    """
    widths = Counter(filter(None, map(_measure_width, rows)))
    usual = max(widths, key=lambda width: (widths[width], width), default=1)
    place = 0
    while place < len(rows) - 1 and _is_before_header(rows[place], rows[place + 1 :], usual):
        place += 1
    # Names come before records: else the first row that is not a comment has them.
    first = next((at for at, row in enumerate(rows) if not _is_comment(row, usual)), 0)
    is_short = len(rows[first]) == usual - 1 > 1 and all(rows[first])
    is_record = all(map(_NUMBER.fullmatch, filter(None, rows[place]))) or place == len(rows) - 1
    if first < place and (is_short or is_record):
        place = first
    return place, usual


def _is_before_header(row: Sequence[str], below: Sequence[Sequence[str]], usual: int) -> bool:
    """Return whether a row is not the header: narrow, a comment, or one text above names."""
    has_number = any(map(_NUMBER.fullmatch, below[0]))
    are_names = len(below[0]) > 2 and all(below[0]) and not has_number
    is_title = _measure_width(row) == 0
    if are_names and len([*filter(str.strip, row)]) == 1:
        # A text that comes again in its column is a value, not a name.
        columns = zip_longest(*below, fillvalue="")
        is_title = all(name not in texts for name, *texts in columns if name)
    # The names may be behind a mark, as NumPy writes them.
    is_comment = row[0].startswith("# ") and not has_number
    return len(row) < usual or is_title or is_comment


def _is_comment(row: Sequence[str], usual: int) -> bool:
    """Return whether a row is a line beginning with #, and not a record."""
    return row[0].startswith("#") and len(row) != usual


def _measure_width(row: Sequence[str]) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return max((place * bool(cell.strip()) for place, cell in enumerate(row, 1)), default=0)


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
