"""Files of formats that are not read: each is named by its first bytes, with what to do."""

import codecs
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchbook.files.inputs import InputError

_HEAD_BYTES: Final = 4096
"""First bytes in which a binary file has a NUL."""

_SAVE_AS_CSV: Final = "open it, and save the sheet as CSV UTF-8"
_TO_PARQUET: Final = "write it as Parquet"

_MARKS: Final[dict[bytes, str]] = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "is an old or protected Excel file (.xls): "
    + _SAVE_AS_CSV,
    b"ARROW1": f"is an Arrow (Feather) file: {_TO_PARQUET}, as with pandas: "
    "pd.read_feather(FILE).to_parquet('FILE.parquet')",
    b"FEA1": f"is a Feather file: {_TO_PARQUET}, as with pandas: "
    "pd.read_feather(FILE).to_parquet('FILE.parquet')",
    b"Obj\x01": "is an Avro file: convert it with avro-tools tojson FILE > FILE.jsonl",
    b"SQLite format 3\x00": "is an SQLite database: export a table with "
    "sqlite3 -header -csv FILE 'SELECT * FROM TABLE' > FILE.csv",
    b"%PDF-": "is a PDF: export its table as CSV from where it was made",
    b"\xfd7zXZ\x00": "is packed with xz: unpack it with unxz FILE, or pack it with gzip",
    b"\x04\x22\x4d\x18": "is packed with LZ4: unpack it with unlz4 FILE, or pack it with gzip",
    b"7z\xbc\xaf\x27\x1c": "is a 7z archive: unpack it, and give one of its files",
    b"Rar!\x1a\x07": "is a RAR archive: unpack it, and give one of its files",
    b"\x89HDF\r\n\x1a\n": f"is an HDF5 file: {_TO_PARQUET}, as with pandas: "
    "pd.read_hdf(FILE).to_parquet('FILE.parquet')",
    b"m\xe2\x99\x81": "is an archive of mongodump: load it with mongorestore --archive=FILE, and "
    "export a collection with mongoexport",
    b"X\n\x00\x00\x00": "is R's data: write it in R with "
    "write.csv(readRDS('FILE'), 'FILE.csv', row.names = FALSE)",
    b"\x93NUMPY": "is a NumPy array: save it with numpy.savetxt('FILE.csv', ARRAY, delimiter=',')",
    b"version https://git-lfs": "is a pointer of Git LFS, not the file: get it with git lfs pull",
}
"""What a file with these first bytes is, and what to do."""

_BZIP2: Final = re.compile(rb"BZh[1-9]1AY&SY")
_R_DATA: Final = re.compile(rb"RD[XAB][23]\n")
_TAR_MARK: Final = (257, b"ustar")
_WEB_PAGE: Final = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html)\b", re.IGNORECASE)
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
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]")


def refuse_other_formats(path: Path, data: bytes) -> None:
    """Raise `InputError` when a file is neither text nor Parquet, with what to do.

    Parameters
    ----------
    path
        The file's, for the error.
    data
        Its bytes, unpacked.
    """
    reason = next((why for mark, why in _MARKS.items() if data.startswith(mark)), None)
    for is_kind, why in _KINDS:
        if reason is None and is_kind(data):
            reason = why
    if reason is not None:
        raise InputError(str(path), reason)


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


def _is_workbook(data: bytes) -> bool:
    return data.startswith(b"PK\x03\x04") and b"xl/" in data


def _is_open_sheet(data: bytes) -> bool:
    return data.startswith(b"PK\x03\x04") and b"opendocument.spreadsheet" in data[:_HEAD_BYTES]


def _is_archive(data: bytes) -> bool:
    start, mark = _TAR_MARK
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06")) or data.startswith(mark, start)


def _is_bson(data: bytes) -> bool:
    """Return whether the first document's length is in its first bytes, and its end is there."""
    length = int.from_bytes(data[:4], "little")
    return 5 <= length <= len(data) and length < 2**24 + 1 and data[length - 1] == 0


def _is_web_page(data: bytes) -> bool:
    return _WEB_PAGE.match(data) is not None


def _is_pickle(data: bytes) -> bool:
    return _PICKLE.match(data) is not None


def _is_orc(data: bytes) -> bool:
    return data.startswith(b"ORC") and data[-4:-1] == b"ORC"


def _is_bzip2(data: bytes) -> bool:
    return _BZIP2.match(data) is not None


def _is_r_data(data: bytes) -> bool:
    return _R_DATA.match(data) is not None


def _is_zero(data: bytes) -> bool:
    head = data[:_HEAD_BYTES]
    return head != b"" and not head.strip(b"\x00")


def _is_binary(data: bytes) -> bool:
    """Return whether the first bytes are no text: a NUL, and bytes that UTF-8 does not have."""
    head = data[:_HEAD_BYTES]
    # UTF-16 has a mark, and NUL in each character of ASCII.
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" not in head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return True
    return False


_KINDS: Final[tuple[tuple[Callable[[bytes], bool], str], ...]] = (
    (_is_workbook, f"is an Excel workbook (.xlsx): {_SAVE_AS_CSV}"),
    (_is_open_sheet, f"is an OpenDocument sheet (.ods): {_SAVE_AS_CSV}"),
    (_is_archive, "is an archive: unpack it, and give one of its files"),
    (
        _is_orc,
        f"is an ORC file: {_TO_PARQUET}, as with pandas: "
        "pd.read_orc(FILE).to_parquet('FILE.parquet')",
    ),
    (_is_bzip2, "is packed with bzip2: unpack it with bunzip2 FILE, or pack it with gzip"),
    (_is_r_data, "is R's data: write it in R with write.csv(DATA, 'FILE.csv', row.names = FALSE)"),
    (_is_bson, "is BSON: convert it with bsondump --outFile=FILE.jsonl FILE"),
    (
        _is_pickle,
        f"is a Python pickle: {_TO_PARQUET}, as with pandas: "
        "pd.read_pickle(FILE).to_parquet('FILE.parquet')",
    ),
    (_is_web_page, "is a web page (HTML): download the file itself, as from its Raw button"),
    (_is_zero, "holds only zero bytes, as after a copy that failed: copy it again"),
    (_is_binary, "is neither text nor Parquet: export its records as JSON, CSV, XML or Parquet"),
)
"""What tells formats without a fixed beginning, and what to do."""
