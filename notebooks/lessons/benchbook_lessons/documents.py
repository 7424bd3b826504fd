"""Lesson 6, JSON and XML from bytes up: what each format can hold, and how long libraries take."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from types import CodeType, ModuleType
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lxml import etree
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from benchbook import codecs
from benchbook.datasets import books
from benchbook.measure import clock
from benchbook.plots import style
from benchbook.plots.points import iterate_rows
from benchbook_lessons.feedback import (
    FormError,
    Part,
    call_function,
    check,
    grade,
    grade_number,
    grade_separately,
    grade_sorting,
)
from benchbook_lessons.predictions import Predictions

predict = Predictions

JSON_CODECS: Final = ("orjson", "json")
XML_CODECS: Final = ("lxml", "etree", "xsdata")

VALUES: Final[dict[str, Any]] = {
    "the integer 2**53 + 1": 2**53 + 1,
    "not a number (nan)": float("nan"),
    "the date 2024-02-29": date(2024, 2, 29),
    "a text with a null character": "a\x00b",
}
"""Values that not every format gives back."""

DECIDED_BY: Final = {"nan in JSON": "the library", "a null character in XML": "the format"}
"""What decides over the fate of two of the values."""

FATES: Final = ("the same", "something else", "refused")
_WHERE: Final = {
    "json": (
        "JSON has text, numbers, true, false, null, lists and objects. Which of these comes back,"
        " and is it equal?"
    ),
    "xml": (
        "Between two tags is text, of characters that XML 1.0 allows. What comes back, without a"
        " schema?"
    ),
}


def make_book(n: int = 1) -> dict[str, str]:
    """Return the n-th book of study bookstore's case 1 as a flat record of texts."""
    last: Any = books.generate_bookstore(n, 20150501, 1).books[-1]
    return {"id": last.id, "title": last.title, "author": last.author}


def encode_bookstore(n: int, format: str) -> bytes:
    """Return the bookstore of n books as the document that is measured, by orjson or lxml."""
    return codecs.load_codec({"json": "orjson", "xml": "lxml"}[format]).encode_bookstore(
        books.generate_bookstore(n, 1, 1)
    )


def count_parts(n: int = 1) -> pd.DataFrame:
    """Return how many bytes of a bookstore are contents, indentation and the rest, by format."""
    stock: list[Any] = list(books.generate_bookstore(n, 1, 1).books)
    contents = sum(len(book.id) + len(book.title) + len(book.author) for book in stock)
    rows = {}
    for format in ("json", "xml"):
        data = encode_bookstore(n, format)
        blank = (
            sum(len(line) - len(line.lstrip(b" ")) + 1 for line in data.splitlines())
            if format == "xml"
            else 0
        )
        rows[format.upper()] = (contents, blank, len(data) - contents - blank)
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["contents", "blanks, line ends", "names and signs"]
    )


def draw_parts(n: int = 10) -> Figure:
    """Draw the result of `count_parts` as bars."""
    shares = count_parts(n) / n
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 1.9), layout="constrained")
        left = np.zeros(2)
        for name, colour in zip(shares, (style.BLUE, "#d0d0d0", style.VERMILION), strict=True):
            axes.barh(shares.index, shares[name], left=left, color=colour, label=name)
            left += shares[name].to_numpy()
        axes.set(
            title="The contents are equal: names, signs and blanks make the difference",
            xlabel="bytes per book",
            ylim=(1.5, -0.5),
        )
        figure.legend(loc="outside lower center", ncols=3)
    plt.close(figure)
    return figure


def time_codecs(n: int = 1_000, rounds: int = 7) -> pd.DataFrame:
    """Return each codec's median time of a round trip of n books, in µs; codecs alternate."""
    store, names = books.generate_bookstore(n, 1, 1), (*JSON_CODECS, *XML_CODECS)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        for name in names if turn % 2 else reversed(names):
            codec = codecs.load_codec(name)
            start = clock()
            codec.decode_bookstore(codec.encode_bookstore(store), 1)
            if turn:  # the first round warms up
                times[name].append((clock() - start) / 1e3)
    rows = [(name, codecs.NAMES[name], float(np.median(times[name]))) for name in names]
    return pd.DataFrame(rows, columns=["codec", "format", "us"]).set_index("codec").round(0)


def draw_race(found: pd.DataFrame) -> Figure:
    """Draw what `time_codecs` returned."""
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.2), layout="constrained")
        for at, row in enumerate(iterate_rows(found)):
            look = style.get_series_style(row.format.upper())
            axes.plot(row.us, at, look.marker, color=look.colour, ms=7)
        axes.set(
            title="Libraries of one format differ, too",
            yticks=range(len(found)),
            yticklabels=[f"{row.Index} ({row.format.upper()})" for row in iterate_rows(found)],
            xlabel="round trip, µs (log scale)",
            xscale="log",
            ylim=(len(found) - 0.5, -0.5),
        )
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    plt.close(figure)
    return figure


def find_fate(codec: str, value: Any) -> str:
    """Return a value's fate on its way through a codec and back: one of `FATES`."""
    library = codecs.load_codec(codec)
    try:
        back = library.decode_record(library.encode_record({"value": value}))["value"]
    except codecs.FormatError:
        return "refused"
    return "the same" if type(back) is type(value) and back == value else "something else"


_NASTY: Final = [
    {"id": "7", "title": "Plain", "author": "A. Nemo"},
    {"id": "7", "title": 'He said "no"', "author": "back\\slash", 'a "name"': ""},
    {"id": "7", "title": "two\nlines and a\ttab", "author": "\x07 bell"},
    {"id": "7", "title": "naïve café, 東京", "author": "🙂"},
]


def _text(function: Any, record: dict[str, str]) -> str:
    found = call_function(function, record)
    if not isinstance(found, str):
        raise FormError(
            f"{function.__name__} should return a text (str), not {type(found).__name__}."
        )
    return found


def _reads(read: Callable[[str], dict[str, str]], text: str, record: dict[str, str]) -> str:
    """Return why a text is not read as the record; empty when it is."""
    try:
        back = read(text)
    except (ValueError, etree.XMLSyntaxError) as error:
        return f"A real parser refuses it: {error}"
    return "" if back == record else f"A real parser reads {back}"


def _check_writer(
    write: Any, read: Callable[[str], dict[str, str]], about: str, record: dict[str, str]
) -> Iterator[Part]:
    """Grade whether a record that a student's function writes is read back unchanged."""
    why = _reads(read, _text(write, record), record)
    off = f"{about}: not read back as it was."
    yield grade(not why, f"{about}: read back unchanged.", off, why)


def _from_xml(text: str) -> dict[str, str]:
    return {str(element.tag): element.text or "" for element in etree.fromstring(text.encode())}


LIBRARIES: Final = ("json", "orjson", "simplejson", "benchbook")
"""Modules with a JSON encoder, which task 1 does without."""


def find_library(function: Any) -> str:
    """Return which of `LIBRARIES` a function uses; empty if none."""
    codes = [getattr(function, "__code__", None)]
    while codes:
        code = codes.pop()
        if not isinstance(code, CodeType):
            continue
        codes += code.co_consts
        for name in code.co_names:
            used = getattr(function, "__globals__", {}).get(name)
            module = used.__name__ if isinstance(used, ModuleType) else ""
            module = module or getattr(used, "__module__", "") or name
            if module.partition(".")[0] in LIBRARIES:
                return module.partition(".")[0]
    return ""


@check(4)
def check_1(to_json: Any) -> Iterator[Part]:
    """Check an encoder of flat records of texts to JSON, written without a library."""
    library = find_library(to_json)
    if library:
        raise FormError(f"to_json uses the library {library}: write each sign yourself.")
    abouts = (
        "a plain book",
        "a quotation mark and a backslash",
        "a line end, a tab, a bell",
        "letters beyond ASCII",
    )
    yield from grade_separately(
        _check_writer(to_json, json.loads, *case) for case in zip(abouts, _NASTY, strict=True)
    )


@check(4)
def check_2(to_xml: Any) -> Iterator[Part]:
    """Check an encoder of flat records of texts to XML, which refuses what XML cannot hold."""
    allowed = {"id": "7", "title": "naïve café, 東京", "author": "a\ttab and\na line end"}
    records = [_NASTY[0], {"id": "7", "title": "a < b && b > c", "author": "]]>"}, allowed]
    abouts = (
        "a plain book",
        "signs of markup in a text",
        "letters beyond ASCII, a tab, a line end",
    )
    looks = [_check_writer(to_xml, _from_xml, *case) for case in zip(abouts, records, strict=True)]

    def bell() -> Iterator[Part]:
        _text(to_xml, _NASTY[0])  # what writes no text at all lets no bell through either
        try:
            to_xml(_NASTY[2])
        except ValueError as error:
            is_named = re.search(r"7|\x07|bell", str(error), re.IGNORECASE)
            yield grade(
                is_named,
                "a bell (U+0007) is refused with a ValueError: XML 1.0 has no escape for it.",
                f"a bell (U+0007): the ValueError says {str(error)!r}. Which character is it?",
            )
        except Exception as error:
            off = (
                f"a bell (U+0007): raise a ValueError that says why. It was a"
                f" {type(error).__name__}."
            )
            yield Part(False, off)
        else:
            off = (
                "a bell (U+0007) was written, and every parser will refuse the document. What does"
                " XML 1.0 allow?"
            )
            yield Part(False, off)

    yield from grade_separately([*looks, bell()])


@check(3)
def check_3(json_a_book: Any, xml_a_book: Any, xml_fixed: Any) -> Iterator[Part]:
    """Check the bytes of one more book in both formats, and XML's bytes around the books."""
    slopes = {
        name: (len(encode_bookstore(90, name)) - len(encode_bookstore(50, name))) / 40
        for name in ("json", "xml")
    }
    off = (
        "(length of one document - length of another) / (books of one - books of the other), with"
        " ids of two digits."
    )
    hints = {
        len(encode_bookstore(1, "json"))
        / slopes["json"]: "that contains the bytes around the books, too."
    }
    yield grade_number(
        json_a_book,
        slopes["json"],
        "json_a_book",
        f"json_a_book: {slopes['json']:g}.",
        hints,
        off,
        within=0.003,
    )
    yield grade_number(
        xml_a_book,
        slopes["xml"],
        "xml_a_book",
        f"xml_a_book: {slopes['xml']:g}.",
        {},
        off,
        within=0.003,
    )
    fixed = len(encode_bookstore(1, "xml")) - (slopes["xml"] - 1)
    well = f"xml_fixed: {fixed:g} bytes of declaration and root."
    off = (
        "the length of a document of one book, less that book. (Its id has one digit, so it is one"
        " byte shorter.)"
    )
    short_ids = "the first nine books have an id of one digit. Use a document of one book."
    hints = {(fixed - 9) / fixed: short_ids, (fixed - 1) / fixed: short_ids}
    yield grade_number(xml_fixed, fixed, "xml_fixed", well, hints, off, within=0.003)


@check(10)
def check_4(json_fate: Any, xml_fate: Any, decided_by: Any) -> Iterator[Part]:
    """Check the fates of four values in JSON (orjson) and XML (lxml), and what decides two."""

    def check_case(format: str, codec: str, answer: Any) -> Iterator[Part]:
        truth = {name: find_fate(codec, value) for name, value in VALUES.items()}
        if isinstance(answer, Mapping) and [*answer.values()] in [[fate] * 4 for fate in FATES]:
            raise FormError(f"{format.upper()}: their fates differ. Guess each by itself.")
        for fates in grade_sorting(answer, truth, FATES, dict.fromkeys(truth, _WHERE[format])):
            yield replace(fates, says=f"{format.upper()}, {fates.says}")

    where = {
        "nan in JSON": "Look at what two libraries write above. Which of them is JSON?",
        "a null character in XML": "Could another library write it? Look at task 2 again.",
    }
    yield from grade_separately(
        (
            check_case("json", "orjson", json_fate),
            check_case("xml", "lxml", xml_fate),
            grade_sorting(decided_by, DECIDED_BY, ("the format", "the library"), where),
        )
    )


@check(2)
def check_5(smallest: Any, largest: Any, times: Any) -> Iterator[Part]:
    """Check the smallest and the largest ratio of an XML codec's time to a JSON codec's."""
    xml, json_us = (times.loc[times["format"] == format, "us"] for format in ("xml", "json"))
    low, high = xml.min() / json_us.max(), xml.max() / json_us.min()
    off = (
        "divide each XML time by each JSON time: which pair gives the smallest, which the largest?"
    )
    hints = {1 / low / low: "that is JSON over XML.", high / low: "that is the largest."}
    yield grade_number(
        smallest, low, "smallest", f"smallest: XML takes {low:.1f} times JSON's time.", hints, off
    )
    hints = {1 / high / high: "that is JSON over XML.", low / high: "that is the smallest."}
    yield grade_number(
        largest,
        high,
        "largest",
        f"largest: {high:.0f} times. 'XML against JSON' is a range of ratios.",
        hints,
        off,
    )
