"""The encoding and the line ends of a file of text."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import OpenedFile

_PEEKED_BYTES: Final = 2**18
_CHUNK_BYTES: Final = 2**20
_MARKS: Final = {
    codecs.BOM_UTF8: ("utf-8", "UTF-8 with a byte order mark"),
    codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16"),
}
_STATED: Final = {
    "utf-8": ("utf-8", "UTF-8"),
    # Without a mark, it is as Windows writes it.
    "utf-16": ("utf-16-le", "UTF-16"),
    "cp1252": ("cp1252", "cp1252"),
    "latin-1": ("latin-1", "latin-1"),
}

ENCODINGS: Final = tuple(_STATED)
"""The words of the option ``encoding``."""


@dataclass(frozen=True)
class FileText:
    """A file's text in UTF-8, without a byte order mark."""

    data: bytes
    encoding: str  # of the file, in words
    guess: str = ""  # a sentence when the encoding is guessed


def read_text(file: OpenedFile) -> FileText:
    """Return a file's text by the encoding's mark, by the option, or as UTF-8.

    Raises `InputError` when it is not in that encoding.
    """
    mark = _find_mark(file.data)
    stated = file.options.get("encoding", "")
    codec, words = _MARKS.get(mark, _STATED[stated or "utf-8"])
    try:
        return FileText(_transcode(file.data[len(mark) :] if mark else file.data, codec), words)
    except UnicodeDecodeError as error:
        if codec != "utf-8":
            source = "as its first bytes say" if mark else "which you stated"
            why = f"is not {words}, {source}: {error.reason}"
            raise InputError(f"{file.path}:1", why) from error
        line, byte = _find_wrong_byte(file.data)
        remedy = "save it as UTF-8, or state its encoding: FILE#encoding=cp1252"
        why = f"is not UTF-8 (byte 0x{byte:02X}): {remedy}"
        raise InputError(f"{file.path}:{line}", why) from error


def read_table_text(file: OpenedFile) -> FileText:
    """Return a table's text, as `read_text`; what is not UTF-8 is taken as cp1252 or latin-1.

    Spreadsheets of western Europe and America write those. A file of which only a few bytes are
    not UTF-8 is refused, and one with the character NUL, too.
    """
    try:
        text = read_text(file)
    except InputError:
        if "encoding" in file.options or _find_mark(file.data) or _is_nearly_utf8(file.data):
            raise
        text = _guess_encoding(file)
    place = text.data.find(b"\0")
    if place >= 0:
        line = text.data.count(b"\n", 0, place) + 1
        why = "holds the character NUL: it is not text, or in UTF-16 without its mark"
        raise InputError(f"{file.path}:{line}", f"{why} (state #encoding=utf-16)")
    return text


def describe_line_ends(decoded: str) -> str:
    """Return a text's line ends in words."""
    head = decoded[:_PEEKED_BYTES]
    if "\r\n" in head:
        return "Windows line ends"
    return "old Mac line ends" if "\r" in head and "\n" not in head else "Unix line ends"


def _find_mark(data: bytes) -> bytes:
    return next((mark for mark in _MARKS if data.startswith(mark)), b"")


def _guess_encoding(file: OpenedFile) -> FileText:
    """Return the text in cp1252, or in latin-1 if it has a byte that cp1252 does not have."""
    codec, other = "cp1252", "latin-1"
    try:
        data = _transcode(file.data, codec)
    except UnicodeDecodeError:
        codec, other = "latin-1", "cp1252"
        data = _transcode(file.data, codec)
    line, byte = _find_wrong_byte(file.data)
    why = f"It is not UTF-8 (line {line}, byte 0x{byte:02X}), and is read as {codec}"
    remedy = f"if letters are wrong, state #encoding={other}, or save it as UTF-8"
    return FileText(data, codec, f"{why}: {remedy}.")


def _transcode(data: bytes, codec: str) -> bytes:
    """Return a text in UTF-8; chunk by chunk, for one string of it can be four times as long."""
    chunks = (data[start : start + _CHUNK_BYTES] for start in range(0, len(data), _CHUNK_BYTES))
    decoded: Iterator[str] = codecs.iterdecode(chunks, codec)
    if codec == "utf-8":
        for _ in decoded:
            pass
        return data
    return b"".join(part.encode() for part in decoded)


def _find_wrong_byte(data: bytes) -> tuple[int, int]:
    """Return the line and the value of the first byte that is not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1, data[error.start]
    raise AssertionError("the data are UTF-8")


def _is_nearly_utf8(data: bytes) -> bool:
    """Return whether most of the characters beyond ASCII are valid UTF-8."""
    decoded = data[: 16 * _CHUNK_BYTES].decode("utf-8", errors="replace")
    wrong = decoded.count("\ufffd")
    beyond = sum(map(len, re.findall(r"[^\x00-\x7f]+", decoded)))
    return beyond - wrong > wrong
