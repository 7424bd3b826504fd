"""The rows of delimited text, taken apart by Python's csv, and the dialect that they are in."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TextIO

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import MAX_BYTES, OpenedFile

DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " "}
QUOTES: Final = {"double": '"', "single": "'", "none": ""}

_MAX_SAMPLED_ROWS: Final = 2_000
_BLANK_ROWS: Final = 200
_MIN_ALIKE: Final = 0.5
"""The share of rows with the same width, up to which blanks may be the delimiter."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+([eE][+-]?[0-9]+)?")
_LONE_BACKSLASH: Final = re.compile(r'\\(?!["\\])')

_NO_QUOTES_NOTE: Final = (
    "Quotes are part of the texts: its tabs delimit without them. If they do not, state "
    "#quote=double."
)

Row = tuple[int, list[str]]
"""The cells of a row, with its last line in the file."""


class QuoteError(InputError):
    """A quote is not where the dialect has one."""


@dataclass(frozen=True)
class Dialect:
    """How a text is taken apart."""

    delimiter: str
    quote: str = '"'  # empty: none
    escapes: bool = False  # a backslash is before a quote inside of a text
    skips_blanks: bool = False  # the blanks behind a delimiter, before a quote
    aligns: bool = False  # several blanks are one delimiter
    note: str = ""  # about quotes
    skipped_lines: int = 0  # a first line ``sep=;``


def list_dialects(file: OpenedFile, head: str) -> Iterator[Dialect]:
    """Yield the dialect of a text by its beginning, then others if quotes are not as in it."""
    csv.field_size_limit(MAX_BYTES)
    # Excel's own line for the delimiter is not a row.
    skipped_lines, delimiter = 0, DELIMITERS.get(file.options.get("delimiter", ""), "")
    if head[:4].lower() == "sep=":
        skipped_lines, delimiter = 1, delimiter or head[4:5]
        head = head.partition("\n")[2]
    delimiter = delimiter or _find_delimiter(file, head)
    first = Dialect(
        delimiter,
        skips_blanks=delimiter != " " and f'{delimiter} "' in head,
        aligns=delimiter == " " and '"' not in head,
        skipped_lines=skipped_lines,
    )
    stated = file.options.get("quote")
    if stated:
        yield replace(first, quote=QUOTES[stated])
        return
    # Single quotes, where a text between them has a delimiter.
    mark = re.escape(delimiter)
    quoted = re.compile(rf"(?:^|{mark})'[^'\n]*{mark}[^'\n]*'(?:{mark}|\r?$)", re.MULTILINE)
    if delimiter != " " and quoted.search(head):
        single = replace(first, quote="'", note="Texts are in single quotes in it.")
        rows = _peek_rows(file, head, single)
        if len({len(row) for row in rows}) == 1 != len({*map(len, _peek_rows(file, head, first))}):
            yield single
    yield first
    yield replace(first, escapes=True, note=r"Quotes inside of texts are written as \" in it.")
    if delimiter == "\t":
        yield replace(first, quote="", note=_NO_QUOTES_NOTE)


def iterate_rows(file: OpenedFile, text: TextIO, dialect: Dialect) -> Iterator[Row]:
    """Yield the rows that are not blank.

    Raises `InputError`, with the line, at a row that cannot be taken apart.
    """
    rows = csv.reader(
        _iterate_lines(file, text, dialect),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar="\\" if dialect.escapes else None,
        skipinitialspace=dialect.skips_blanks,
        strict=True,
    )
    while True:
        line = rows.line_num + 1 + dialect.skipped_lines
        try:
            row = next(rows, None)
        except csv.Error as error:
            why = "a quote is inside of a quoted text, or stays open: double or close it"
            if "unexpected end" in str(error):
                why = "a quote that opens in this row is never closed: close it"
            elif "field larger" in str(error):
                why = "a text is too long"
            raise QuoteError(f"{file.path}:{line}", f"not CSV: {why}") from error
        if row is None:
            return
        if dialect.delimiter == "\t" and dialect.quote and any(map(_has_row, row)):
            why = "not CSV: a quoted text has a tab and a line end: close the quote before them"
            raise QuoteError(f"{file.path}:{line}", why)
        # A blank line is not a row.
        if row:
            yield rows.line_num + dialect.skipped_lines, row


def _has_row(cell: str) -> bool:
    """Return whether a cell seems to have swallowed the next row."""
    return "\t" in cell and "\n" in cell


def _iterate_lines(file: OpenedFile, text: TextIO, dialect: Dialect) -> Iterator[str]:
    """Yield the lines as the dialect's reader takes them."""
    for number, line in enumerate(text, 1):
        if number <= dialect.skipped_lines:
            continue
        if "\0" in line:
            why = "holds the character NUL: it is not text, or in UTF-16 without its mark"
            where = f"{file.path}:{number}"
            raise InputError(where, f"{why} (state #encoding=utf-16)")
        if dialect.escapes:
            line = _LONE_BACKSLASH.sub(r"\\\\", line)
        if dialect.aligns:
            # Several blanks align columns.
            line = re.sub(r"[ \t]+", " ", line.strip())
        # Ctrl-Z ends a text of old systems.
        if line != "\x1a":
            yield line


def _find_delimiter(file: OpenedFile, head: str) -> str:
    """Return the delimiter by which most rows at the beginning have the same width."""
    best, found = (0.0, 0), ","
    for delimiter in ",;\t|":
        rows = _peek_rows(file, head, Dialect(delimiter, skips_blanks=True))
        widths = Counter(len(row) for row in rows if row[1:])
        if widths:
            # Of equal shares, the one whose first row is wider.
            score = max(widths.values()) / len(rows), len(rows[0])
            if score > best:
                best, found = score, delimiter
    # Blanks are tried last, because they are in most texts.
    if best[0] <= _MIN_ALIKE and _has_blank_columns(file, head):
        return " "
    return found


def _peek_rows(file: OpenedFile, head: str, dialect: Dialect) -> list[list[str]]:
    """Return the rows at the beginning that are not blank; the last one may be cut off."""
    lines = io.StringIO(head, newline="")
    reader = csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        skipinitialspace=dialect.skips_blanks,
    )
    rows = [row for row in islice(reader, _MAX_SAMPLED_ROWS) if row]
    is_cut = len(head) > len(file.head) // 4 and len(rows) < _MAX_SAMPLED_ROWS
    return rows[:-1] if is_cut and len(file.head) >= 2**18 and rows[1:] else rows


def _has_blank_columns(file: OpenedFile, head: str) -> bool:
    """Return whether blanks delimit columns, and are not part of the texts."""
    aligned = re.sub(r"[ \t]+", " ", re.sub(r"(?m)[ \t]+$", "", head))
    rows = _peek_rows(file, aligned, Dialect(" ", skips_blanks=True))[:_BLANK_ROWS] or [[]]
    widths = {len(row) for row in rows[1:]}
    width = max(widths, default=1)
    if width == 1 or len(widths) != 1 or len(rows[0]) not in (width, width - 1):
        return False
    columns = zip(*rows[1:], strict=False)
    return head.startswith('"') or any(all(map(_NUMBER.fullmatch, column)) for column in columns)
