"""Files of a user's records as other systems write them: JSON, delimited text, XML and Parquet.

A file's format is recognised, and its reader does the rest. A file of a format that is not read is
refused, with what to do. Options may follow its name:
``FILE#delimiter=semicolon+decimal=comma``.
"""

import codecs
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchbook.files.inputs import InputError
from benchbook.own_data import delimited_files, json_files, parquet_files
from benchbook.own_data.opened_file import ENCODINGS, OpenedFile, ReadRecords
from benchbook.own_data.text_columns import DECIMALS


@dataclass(frozen=True)
class FileOption:
    """An option after a file's name."""

    words: Collection[str]  # empty: any text
    formats: Collection[str]  # that have the option


OPTIONS: Final[Mapping[str, FileOption]] = {
    "delimiter": FileOption(delimited_files.DELIMITERS, ["delimited text"]),
    "quote": FileOption(delimited_files.QUOTES, ["delimited text"]),
    "decimal": FileOption(DECIMALS, ["delimited text", "XML"]),
    "encoding": FileOption(ENCODINGS, ["delimited text", "JSON", "XML"]),
    # A place inside the file.
    "records": FileOption((), ["JSON", "XML"]),
}
"""The options after a file's name. Parquet has none."""

_JSON_SUFFIXES: Final = (
    *(".json", ".jsonl", ".ndjson", ".geojson", ".topojson"),
    *(".jsonc", ".json5", ".har", ".ipynb"),
)
_XML: Final = re.compile(r"<([?!]|[A-Za-z_])")
_JSON_RECORD: Final = re.compile(r'(\[\s*)?\{\s*"[^"\n]*"\s*:|\[\s*\[\s*["0-9-]')
"""How JSON begins, and hardly a table."""
_TABLE_HEAD: Final = re.compile(r'(?:"[^"\n]*"|\w[^"\n,;|\t:]*)[,;|\t][^\n]*\n')
"""The first line of a table, and hardly of JSON: a name, and a delimiter."""
_PEEKED: Final = 4096
"""Characters by which a text is recognised."""


def split_options(path: str | Path) -> tuple[Path, dict[str, str]]:
    """Return a file's path and its options: names in `OPTIONS`, with their words."""
    name, mark, options = str(path).rpartition("#")
    if not mark or "=" not in options or Path(path).exists():
        return Path(path), {}
    stated = {}
    for option in options.split("+"):
        key, _, word = option.partition("=")
        known = OPTIONS.get(key)
        if known is None or not word or (known.words and word not in known.words):
            why = f"{option!r} is not a file option: {_list_options(OPTIONS)}"
            raise InputError(str(path), why)
        stated[key] = word
    return Path(name), stated


def is_file(path: str) -> bool:
    """Return whether a path, with or without options, is that of an existing file."""
    try:
        return split_options(path)[0].is_file()
    except (InputError, OSError, ValueError):
        return False


def read_records(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first records of a file by the reader of its format; None: all.

    Raises `InputError` as `find_format`, and when the file cannot be read.
    """
    name = find_format(file)
    if name == "XML":
        # The import of lxml takes as long as a small plan.
        from benchbook.own_data import xml_files

        return xml_files.read(file, count)
    read = {
        "JSON": json_files.read,
        "delimited text": delimited_files.read,
        "Parquet": parquet_files.read,
    }
    return read[name](file, count)


def find_format(file: OpenedFile) -> str:
    """Return the format of a file: ``JSON``, ``delimited text``, ``XML`` or ``Parquet``.

    Raises `InputError` when the file is of a format that is not read, with what to do, or when an
    option is stated that its format does not have.
    """
    name = _recognise_format(file)
    for option in file.options:
        if name not in OPTIONS[option].formats:
            others = [other for other, known in OPTIONS.items() if name in known.formats]
            remedy = f"its options are {_list_options(others)}" if others else "leave it out"
            why = f"#{option}= has no effect on {name}: {remedy}"
            raise InputError(str(file.path), why)
    return name


def _list_options(names: Iterable[str]) -> str:
    """Return some options with their words."""
    return ", ".join(f"{name}={'|'.join(OPTIONS[name].words) or 'PLACE'}" for name in names)


def _recognise_format(file: OpenedFile) -> str:
    """Return the format that a file's content tells, else its suffix."""
    # Bytes tell Parquet, and formats that are not read.
    if not file.head.startswith(b"PAR1") and "encoding" not in file.options:
        _refuse_other_formats(file.path, file.head)
    if file.head.startswith(b"PAR1") or file.suffix in (".parquet", ".pq"):
        return "Parquet"
    if "delimiter" in file.options:
        return "delimited text"
    # A text's beginning tells more than its suffix.
    head = file.decode_head()[:_PEEKED].lstrip(" \t\r\n\x1e")
    is_record = _JSON_RECORD.match(head) is not None
    is_table = file.suffix in (".csv", ".tsv", ".tab")
    is_xml = head.startswith("<?xml") or (_XML.match(head) is not None and not is_table)
    _refuse_other_texts(file.path, file.suffix if not (is_record or is_xml) else "-", head)
    if is_record:
        return "JSON"
    if is_xml:
        return "XML"
    # Where both JSON and a table are possible, the suffix decides.
    looks_like_json = head.startswith(("{", "[")) and not is_table
    if looks_like_json or (file.suffix in _JSON_SUFFIXES and not _TABLE_HEAD.match(head)):
        return "JSON"
    return "delimited text"


_HEAD_BYTES: Final = 4096
"""First bytes in which a binary file has a NUL."""

_SAVE_AS_CSV: Final = "open it, and save the sheet as CSV UTF-8"
_WRITE_PARQUET: Final = (
    "write it as Parquet, as with pandas: pd.read_{}(FILE).to_parquet('FILE.parquet')"
)
_NO_TEXT: Final = (
    "is neither text nor Parquet: export its records as JSON, CSV, XML or Parquet, or state its "
    "encoding, such as #encoding=utf-16"
)

_FORMATS: Final = (
    (
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        f"is an old or protected Excel file (.xls): {_SAVE_AS_CSV}",
    ),
    (rb"ARROW1", f"is an Arrow (Feather) file: {_WRITE_PARQUET.format('feather')}"),
    (rb"FEA1", f"is a Feather file: {_WRITE_PARQUET.format('feather')}"),
    (rb"Obj\x01", "is an Avro file: convert it with avro-tools tojson FILE > FILE.jsonl"),
    (
        rb"SQLite format 3\x00",
        "is an SQLite database: export a table with "
        "sqlite3 -header -csv FILE 'SELECT * FROM TABLE' > FILE.csv",
    ),
    (rb"%PDF-", "is a PDF: export its table as CSV from where it was made"),
    (rb"\xfd7zXZ\x00", "is packed with xz: unpack it with unxz FILE, or pack it with gzip"),
    (rb"\x04\x22\x4d\x18", "is packed with LZ4: unpack it with unlz4 FILE, or pack it with gzip"),
    (rb"7z\xbc\xaf\x27\x1c", "is a 7z archive: unpack it, and give one of its files"),
    (rb"Rar!\x1a\x07", "is a RAR archive: unpack it, and give one of its files"),
    (rb"\x89HDF\r\n\x1a\n", f"is an HDF5 file: {_WRITE_PARQUET.format('hdf')}"),
    (
        rb"m\xe2\x99\x81",
        "is an archive of mongodump: load it with mongorestore --archive=FILE, and "
        "export a collection with mongoexport",
    ),
    (
        rb"X\n\x00\x00\x00",
        "is R's data: write it in R with write.csv(readRDS('FILE'), 'FILE.csv', row.names = FALSE)",
    ),
    (
        rb"\x93NUMPY",
        "is a NumPy array: save it with numpy.savetxt('FILE.csv', ARRAY, delimiter=',')",
    ),
    (
        rb"version https://git-lfs",
        "is a pointer of Git LFS, not the file: get it with git lfs pull",
    ),
    (rb"PK\x03\x04.*xl/", f"is an Excel workbook (.xlsx): {_SAVE_AS_CSV}"),
    (
        rb"PK\x03\x04.{,4096}opendocument\.spreadsheet",
        f"is an OpenDocument sheet (.ods): {_SAVE_AS_CSV}",
    ),
    (
        rb"PK\x03\x04|PK\x05\x06|.{257}ustar",
        "is an archive: unpack it, and give one of its files",
    ),
    (rb"ORC.*[\x00-\x08\x0e-\x1f]", f"is an ORC file: {_WRITE_PARQUET.format('orc')}"),
    (
        rb"BZh[1-9]1AY&SY",
        "is packed with bzip2: unpack it with bunzip2 FILE, or pack it with gzip",
    ),
    (
        rb"RD[XAB][23]\n",
        "is R's data: write it in R with write.csv(DATA, 'FILE.csv', row.names = FALSE)",
    ),
    (rb"\x80[\x02-\x05]", f"is a Python pickle: {_WRITE_PARQUET.format('pickle')}"),
    (
        rb"(\xef\xbb\xbf)?\s*<(!(?i:doctype html)|(?i:html))\b",
        "is a web page (HTML): download the file itself, as from its Raw button",
    ),
    (
        rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff|<\x00\x00\x00|\x00\x00\x00<",
        "is UTF-32: save it as UTF-8",
    ),
    # The first two characters are hardly beyond Latin-1.
    (
        rb"[\t\n\r\x20-\xff]\x00[\t\n\r\x20-\xff]\x00|\x00[\t\n\r\x20-\xff]\x00[\t\n\r\x20-\xff]",
        "is UTF-16 without a byte order mark: save it as UTF-8, or state its encoding: "
        "FILE#encoding=utf-16",
    ),
    # A document of BSON begins with its length, the type and the name of a field.
    (
        rb".{3}\x00[\x01-\x13][^\x00]",
        "is BSON: convert it with bsondump --outFile=FILE.jsonl FILE",
    ),
    (
        rb"\x00+\Z|\x00{4096}",
        "holds only zero bytes, as after a copy that failed: copy it again",
    ),
)
"""How the bytes of a file begin, what it is, and what to do."""

_NO_RECORDS: Final = ", and no records: give a file of JSON, CSV, XML or Parquet"
_LOG_REASON: Final = "is a log: write its records as JSON Lines or CSV, or state a delimiter"
_SQL_REASON: Final = "is SQL: load it into a database, and export a table as CSV"

_TEXTS: Final = (
    # The lines of programs, systems and web servers.
    ((".log",), "", _LOG_REASON),
    (
        ("", ".out"),
        r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d |"
        r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d |\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/",
        _LOG_REASON,
    ),
    ((".sql",), "", _SQL_REASON),
    (("", ".txt", ".dump"), r"(?ims).*^(insert into|create table)\b", _SQL_REASON),
    (
        (".js", ".json"),
        r"[A-Za-z_$][\w.$ ]*[=(]\s*[\[{]",
        "is a script around JSON: delete what is before the first bracket and behind the last",
    ),
    (
        (".js", ".json", ""),
        r"\)\]\}'",
        "has )]}' before its JSON, as some servers send it: delete that line",
    ),
    ((".yaml", ".yml"), "", "is YAML: write it as JSON, as with yq -o=json FILE > FILE.json"),
    ((".toml",), "", "is TOML: write it as JSON, as with yq -p=toml -o=json FILE > FILE.json"),
    (
        (".arff",),
        "",
        "is ARFF: put a line with the names for those up to @data, and name it .csv",
    ),
    ((".ini", ".cfg", ".conf", ".env", ".properties"), "", f"holds settings{_NO_RECORDS}"),
    ((".md", ".rst", ".tex", ".adoc", ".rtf"), "", f"is a text to read{_NO_RECORDS}"),
    (
        (
            *(".py", ".ts", ".java", ".c", ".h", ".cpp", ".go", ".rs", ".r", ".jl", ".rb", ".sh"),
            *(".js", ".php", ".cs", ".ps1", ".bat"),
        ),
        "",
        f"is a program{_NO_RECORDS}",
    ),
)
"""Texts that are not read: their suffixes, how they begin, what they are, and what to do."""

_BULK: Final = re.compile(
    r'\{\s*"(index|create|update|delete)"\s*:\s*\{[^{}\n]*\}\s*\}\s*\n\s*\{(?!\s*"\1")'
)


def _refuse_other_formats(path: Path, data: bytes) -> None:
    """Raise `InputError` when unpacked bytes are neither text nor Parquet, with what to do."""
    for pattern, reason in _FORMATS:
        if re.match(pattern, data, re.DOTALL):
            raise InputError(str(path), reason)
    # UTF-16 has a mark, and NUL in each character of ASCII.
    has_mark = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\x00" in data[:_HEAD_BYTES] and not has_mark:
        try:
            codecs.getincrementaldecoder("utf-8")().decode(data[:_HEAD_BYTES])
        except UnicodeDecodeError as error:
            raise InputError(str(path), _NO_TEXT) from error


def _refuse_other_texts(path: Path, suffix: str, head: str) -> None:
    """Raise `InputError` when a text is of a kind that is not read, with what to do."""
    action = _BULK.match(head)
    if action:
        why = "is Elasticsearch's bulk format: delete the lines of actions, as with grep -v"
        raise InputError(str(path), f"{why} '^{{\"{action[1]}\"' FILE > FILE.jsonl")
    for suffixes, pattern, reason in _TEXTS:
        if suffix in suffixes and re.match(pattern, head):
            raise InputError(str(path), reason)
