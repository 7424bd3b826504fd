"""A table of texts: delimited text, taken apart by DuckDB and kept in its memory."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchbook.files.inputs import InputError
from benchbook.files.suite_files import TemporaryFolder
from benchbook.own_data.opened_file import MAX_BYTES, OpenedFile
from benchbook.own_data.text_encoding import describe_line_ends, read_table_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

END_ROW: Final = "\x02end\x02"
"""The text of a row that is added: where it is missing, a quote is open at the file's end."""

_NO_TEXT: Final = "\x02missing\x02"
"""What is NULL besides missing cells: no text, so that an empty cell is an empty text."""

_PEEKED_BYTES: Final = 2**18
_MAX_SAMPLED_ROWS: Final = 2_000
_PEEKED_ROWS: Final = 200
_MIN_ALIKE: Final = 0.5
"""The share of rows with the same width, up to which blanks may be the delimiter."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Dialect:
    """How a text is taken apart."""

    delimiter: str
    width: int  # columns; the table has one more, for what is behind the last
    escape: str = '"'
    one_line_end: bool = False  # the line ends are mixed, and all taken as one


@dataclass
class TextTable:
    """A table's text, and the database with its rows in the table ``cells``: c0, c1 and so on.

    An empty cell is an empty text, and a missing one NULL. The rows are in the order of ``rowid``.
    """

    path: Path  # the user's file, for errors
    data: bytes
    encoding: str  # in words
    first_line: int  # of the data; 2 behind a line ``sep=;``
    delimiter: str  # empty: to be found
    copy: Path  # a temporary file
    connection: "DuckDBPyConnection"
    dialect: Dialect = Dialect(",", 1)
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def _line_size(self) -> str:
        """The SQL of the longest line's bytes, which are as many as the file's at most."""
        return str(len(self.data) + 2**16)

    def note(self, sentence: str) -> None:
        """Add a sentence for the user."""
        self.notes[sentence] = None

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self.connection.execute(query).fetchall()

    def count_rows(self, condition: str = "true") -> int:
        """Return the number of rows for which an SQL condition is true."""
        count: int = self.fetch(f"SELECT count(*) FROM cells WHERE {condition}")[0][0]
        return count

    def describe_encoding(self) -> str:
        """Return encoding and line ends in words."""
        head = self.data[:_PEEKED_BYTES].decode(errors="replace")
        return f"{self.encoding}, {describe_line_ends(head)}"

    def read_cells(self) -> Dialect:
        """Fill the table ``cells``, and return the dialect.

        Raises `InputError`, with the line, at a row that cannot be taken apart.
        """
        self.dialect = self._find_dialect()
        rejected = self._fill_cells(self.dialect)
        # Line ends and quotes may be written in another way.
        if rejected and rejected[1] == "INVALID STATE" and b"\r" in self.data:
            self.note("The line ends are mixed, and all taken as one, inside of texts, too.")
            self.dialect = replace(self.dialect, one_line_end=True)
            rejected = self._fill_cells(self.dialect)
        if rejected and rejected[1] == "UNQUOTED VALUE" and b'\\"' in self.data:
            escaped = replace(self.dialect, escape="\\")
            if not self._fill_cells(escaped):
                self.note(r"Quotes inside of texts are written as \" in it.")
                self.dialect, rejected = escaped, None
        if rejected:
            raise self._explain_rejection(*rejected)
        last = self.fetch("SELECT max(rowid), arg_max(c0, rowid) FROM cells")[0]
        if last[1] != END_ROW:
            # The row with the open quote reaches to the end of the file.
            lines = [*self._walk_lines(self.dialect)]
            line = lines[-2] + 1 if lines[1:] else self.first_line
            why = "not CSV: a quote that opens in this row is never closed: close it"
            raise InputError(f"{self.path}:{line}", why)
        self.connection.execute(f"DELETE FROM cells WHERE rowid = {last[0]}")
        return self.dialect

    def select_cells(self, dialect: Dialect) -> str:
        """Write the temporary file, and return the SQL that reads its rows, with the last one."""
        self._write_copy(dialect)
        cells = (f"'c{place}': 'VARCHAR'" for place in range(dialect.width + 1))
        options = {
            "columns": f"{{{', '.join(cells)}}}",
            "delim": quote_sql(dialect.delimiter),
            "quote": "'\"'",
            "escape": quote_sql(dialect.escape),
            "nullstr": quote_sql(_NO_TEXT),
            "max_line_size": self._line_size,
            "auto_detect": "false",
            "header": "false",
            # A row that is too short is filled up; one that is too long is rejected.
            "null_padding": "true",
            "strict_mode": "true",
            "parallel": "false",
            "store_rejects": "true",
            "rejects_limit": "1",
        }
        return f"SELECT * FROM read_csv({quote_sql(str(self.copy))}, {_list_options(options)})"

    def find_line(self, row: int) -> int:
        """Return the last line of a row by its number, ``rowid``."""
        return next(iter(self.find_lines(self.dialect, [row])), self.first_line)

    def find_lines(self, dialect: Dialect, rows: Sequence[int]) -> list[int]:
        """Return the last lines of rows by their numbers, which are in order."""
        lines = []
        wanted = iter(rows)
        row = next(wanted, None)
        for number, line in enumerate(self._walk_lines(dialect)):
            if row is None:
                break
            if number == row:
                lines.append(line)
                row = next(wanted, None)
        return lines

    def build_error(self, row: int, why: str) -> InputError:
        """Return the error of a row by its number."""
        return InputError(f"{self.path}:{self.find_line(row)}", why)

    def _walk_lines(self, dialect: Dialect) -> Iterator[int]:
        """Yield the last line of each row."""
        csv.field_size_limit(MAX_BYTES)
        text = io.TextIOWrapper(io.BytesIO(self.data), "utf-8", newline="")
        escape = dialect.escape if dialect.escape != '"' else None
        rows = csv.reader(
            text, delimiter=dialect.delimiter, escapechar=escape, skipinitialspace=True
        )
        for row in rows:
            # DuckDB passes blank lines over.
            if row:
                yield rows.line_num + self.first_line - 1

    def _find_dialect(self) -> Dialect:
        """Return the delimiter by which most rows at the beginning have the same width."""
        if self.delimiter:
            rows = self._peek_rows(self.delimiter)
            return Dialect(self.delimiter, max(map(len, rows), default=1))
        best, found = (0.0, 0), Dialect(",", 1)
        for delimiter in ",;\t|":
            rows = self._peek_rows(delimiter)
            widths = Counter(len(row) for row in rows if row[1:])
            if widths:
                # Of equal shares, the one whose first row is wider.
                score = max(widths.values()) / len(rows), len(rows[0])
                if score > best:
                    best, found = score, Dialect(delimiter, max(widths))
        # Blanks are tried last, because they are in most texts.
        if best[0] <= _MIN_ALIKE:
            width = self._count_blank_columns()
            if width > 1:
                return Dialect(" ", width)
        return found

    def _peek_rows(self, delimiter: str) -> list[list[str]]:
        """Return the rows at the beginning that are not blank."""
        csv.field_size_limit(MAX_BYTES)
        head = self.data[:_PEEKED_BYTES].decode(errors="replace")
        if delimiter == " ":
            head = re.sub(r"(?m)[ \t]+$", "", head)
            head = re.sub(r"[ \t]+", " ", head)
        lines = io.StringIO(head, newline="")
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        rows = [row for row in islice(reader, _MAX_SAMPLED_ROWS) if row]
        # The last row may be cut off.
        return rows[:-1] if len(self.data) > _PEEKED_BYTES and rows[1:] else rows

    def _count_blank_columns(self) -> int:
        """Return the number of columns between blanks; 1 if blanks are part of the texts."""
        rows = self._peek_rows(" ")[:_PEEKED_ROWS] or [[]]
        widths = {len(row) for row in rows[1:]}
        width = max(widths, default=1)
        if len(widths) != 1 or len(rows[0]) not in (width, width - 1):
            return 1
        has_numbers = any(
            all(map(_NUMBER.fullmatch, column)) for column in zip(*rows[1:], strict=False)
        )
        return width if has_numbers or self.data.startswith(b'"') else 1

    def _fill_cells(self, dialect: Dialect) -> tuple[int, str] | None:
        """Read all rows; return the first line that DuckDB rejects, and the kind of error."""
        import duckdb

        for name in ("cells", "reject_errors", "reject_scans"):
            self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        try:
            self.connection.execute(f"CREATE TABLE cells AS {self.select_cells(dialect)}")
        except duckdb.InvalidInputException:
            # Line ends that differ from the first one.
            return 1, "INVALID STATE"
        rejected = self.fetch("SELECT line, error_type::VARCHAR FROM reject_errors ORDER BY line")
        return rejected[0] if rejected else None

    def _explain_rejection(self, line: int, kind: str) -> InputError:
        reasons = {
            "TOO MANY COLUMNS": (
                f"more than {self.dialect.width} values, which other rows have: quote its texts; "
                f"where all rows are so, state another delimiter than {self.dialect.delimiter!r}"
            ),
            "UNQUOTED VALUE": (
                "not CSV: a quote is inside of a quoted text, or stays open: double or close it"
            ),
        }
        why = reasons.get(kind, f"not CSV: {kind.lower()}")
        return InputError(f"{self.path}:{line + self.first_line - 1}", why)

    def _write_copy(self, dialect: Dialect) -> None:
        """Write the temporary file, with a row that marks its end."""
        data = self.data
        if dialect.one_line_end:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if dialect.delimiter == " " and b'"' not in data:
            # Several blanks align columns.
            data = re.sub(rb"(?m)^ | (?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", data))
        # Another line end than the file's would make them mixed.
        found = re.search(rb"\r\n|\n|\r", data)
        line_end = found.group() if found else b"\n"
        with self.copy.open("wb") as file:
            file.write(data)
            file.write(line_end + END_ROW.encode() + line_end)


@contextmanager
def open_table(file: OpenedFile, delimiter: str) -> Iterator[TextTable]:
    """Yield the table of a file, with the delimiter that is stated; empty: to be found.

    Raises `InputError`, with the line, when the file is not text.
    """
    # Importing it takes a quarter of a second; JSON needs none.
    import duckdb

    text = read_table_text(file)
    data, first_line = text.data, 1
    if data[:4].lower() == b"sep=":
        # Excel's own line for the delimiter is not a row.
        delimiter = delimiter or data[4:5].decode()
        data, first_line = data.partition(b"\n")[2], 2
    # Ctrl-Z ends a text of old systems.
    data = data.removesuffix(b"\x1a")
    with TemporaryFolder("cell") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "temp_directory": str(folder),
        }
        with duckdb.connect(config=settings) as connection:
            copy = folder / "table.csv"
            table = TextTable(
                file.path, data, text.encoding, first_line, delimiter, copy, connection
            )
            if text.guess:
                table.note(text.guess)
            try:
                yield table
            except (duckdb.Error, csv.Error) as error:
                why = str(error).partition("\n")[0]
                raise InputError(str(file.path), f"cannot be read as a table: {why}") from error
            except RuntimeError as error:
                # DuckDB raises it in place of what a signal's handler raised, such as Ctrl-C's.
                if type(error) is RuntimeError:
                    raise KeyboardInterrupt from error
                raise


def fetch_rows(connection: "DuckDBPyConnection", query: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query, of which few are in memory at a time."""
    rows = connection.execute(query)
    for batch in iter(partial(rows.fetchmany, 10_000), []):
        yield from batch


def _list_options(options: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items())


def quote_sql(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
