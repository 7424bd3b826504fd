"""Files of formats that are not read: each is named by its first bytes, with what to do."""

import codecs
import re
from pathlib import Path
from typing import Final

from benchbook.files.inputs import InputError

_HEAD_BYTES: Final = 4096
"""First bytes in which a binary file has a NUL."""

_SAVE_AS_CSV: Final = "open it, and save the sheet as CSV UTF-8"
_WRITE_PARQUET: Final = (
    "write it as Parquet, as with pandas: pd.read_{}(FILE).to_parquet('FILE.parquet')"
)
_NO_TEXT: Final = "is neither text nor Parquet: export its records as JSON, CSV, XML or Parquet"

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
    (rb"ORC.*ORC.\Z", f"is an ORC file: {_WRITE_PARQUET.format('orc')}"),
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
        rb"\x00+\Z|\x00{4096}",
        "holds only zero bytes, as after a copy that failed: copy it again",
    ),
)
"""How the bytes of a file begin, what it is, and what to do."""

_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "is YAML: write it as JSON, as with yq -o=json FILE > FILE.json": (".yaml", ".yml"),
    "is TOML: write it as JSON, as with yq -p=toml -o=json FILE > FILE.json": (".toml",),
    "is ARFF: put a line with the names for those up to @data, and name it .csv": (".arff",),
    "holds settings, and no records: give a file of JSON, CSV, XML or Parquet": (
        *(".ini", ".cfg", ".conf", ".env", ".properties"),
    ),
    "is a text to read, without records: give a file of JSON, CSV, XML or Parquet": (
        *(".md", ".rst", ".tex", ".adoc", ".rtf"),
    ),
    "is a program, without records: give a file of JSON, CSV, XML or Parquet": (
        *(".py", ".ts", ".java", ".c", ".h", ".cpp", ".go", ".rs", ".r", ".jl", ".rb", ".sh"),
        *(".js", ".php", ".cs", ".ps1", ".bat"),
    ),
    "is SQL: load it into a database, and export a table as CSV": (".sql",),
}
"""What a text of some suffixes is, and what to do."""

_SCRIPT: Final = re.compile(r"[A-Za-z_$][\w.$ ]*[=(]\s*[\[{]")
_LOG: Final = re.compile(
    r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d |"
    r"\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/"
)
"""How the lines of programs, systems and web servers begin."""
_SQL: Final = re.compile(r"^(insert into|create table)\b", re.IGNORECASE | re.MULTILINE)
_ACTION: Final = re.compile(
    r'\{\s*"(index|create|update|delete)"\s*:\s*\{[^{}\n]*\}\s*\}\s*\n\s*\{(?!\s*"\1")'
)


def refuse_other_formats(path: Path, data: bytes) -> None:
    """Raise `InputError` when unpacked bytes are neither text nor Parquet, with what to do."""
    for pattern, reason in _FORMATS:
        if re.match(pattern, data, re.DOTALL):
            raise InputError(str(path), reason)
    # A document of BSON begins with its length, and ends with NUL.
    length = int.from_bytes(data[:4], "little")
    if 5 <= length <= min(len(data), 2**24) and data[length - 1] == 0:
        reason = "is BSON: convert it with bsondump --outFile=FILE.jsonl FILE"
        raise InputError(str(path), reason)
    # UTF-16 has a mark, and NUL in each character of ASCII.
    head = data[:_HEAD_BYTES]
    if b"\x00" not in head or head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        raise InputError(str(path), _NO_TEXT) from error


def refuse_other_texts(path: Path, suffix: str, head: str) -> None:
    """Raise `InputError` when a text is of a kind that is not read, with what to do.

    Parameters
    ----------
    path
        The file's, for the error.
    suffix
        The suffix of its content; empty where it says nothing.
    head
        The beginning of the text, without blanks before it.
    """
    action = _ACTION.match(head)
    if action:
        why = "is Elasticsearch's bulk format: delete the lines of actions, as with grep -v"
        raise InputError(str(path), f"{why} '^{{\"{action[1]}\"' FILE > FILE.jsonl")
    if suffix in (".js", ".json") and _SCRIPT.match(head):
        why = "is a script around JSON: delete what is before the first bracket and behind the last"
        raise InputError(str(path), why)
    if suffix in ("", ".log", ".out") and _LOG.match(head):
        why = "is a log: write its records as JSON Lines or CSV, or state a delimiter"
        raise InputError(str(path), why)
    reason = next((why for why, suffixes in _TEXTS.items() if suffix in suffixes), None)
    if reason is None and suffix in ("", ".txt", ".dump") and _SQL.search(head):
        reason = next(why for why in _TEXTS if why.startswith("is SQL"))
    if reason is not None:
        raise InputError(str(path), reason)
