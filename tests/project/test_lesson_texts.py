"""The lessons' texts: an expression makes each number, and sentences are short."""

import ast
import re
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path

import nbformat
import numpy as np
import pytest

from checkout import ROOT
from lesson_constants import GIVEN
from lesson_numbers import HELD
from tools import lessons

LESSONS = ROOT / "notebooks" / "lessons"
MODULES = sorted((LESSONS / "benchbook_lessons").glob("*.py"))
TEACHERS = {path.stem: path for path in lessons.list_teachers()}
PAGE = "teaching.md"

LONGEST_SENTENCE = 25

WORDS = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fifteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
    "hundred",
    "hundreds",
    "thousand",
    "million",
    "half",
    "twice",
    "third",
    "thirds",
    "quarter",
    "dozen",
    "dozens",
]
NUMBER = re.compile(rf"\d[\d,.]*\d|\d|\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)

FORM = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|<!--.*?-->|\]\([^)]*\)"  # code, formulas, links
    # test_lessons.py adds up the minutes of a lesson's parts, and of a slot.
    r"|^\| \d(, \w+ day)?( \| \d+){5,6}( \| not tried)? \|$|\d+:\d\d to \d+:\d\d"
    r"|\*\*Task \d\.\*\*|[Tt]asks? \d( and \d)?|[Ll]essons? \d(, \d)*( and \d)?"
    r"|Discuss \d|Table \w+|\*\*About \d+ minutes"
    r"|^#+ \d\. |^\d\. |^\| \[?\d |\(\d points|\| \d+ \|$"
    r"|[a-z-]+:[-\d][^;\n]*(px|em)\b",
    re.DOTALL | re.MULTILINE,
)
"""Numbers that only number things (tasks, lessons, headings), points, and sizes of a style."""


def read_markdown(path: Path) -> str:
    """Return the text of a lesson's markdown cells."""
    cells = nbformat.read(path, 4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def read_strings(path: Path) -> str:
    """Return the texts of a module that a student can see: its strings, without docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and " " in node.value
        and "\n" not in node.value  # programs and examples of other formats
    ]
    return "\n".join(texts)


TEXTS: dict[str, Callable[[], str]] = {
    **{name: lambda path=path: read_markdown(path) for name, path in TEACHERS.items()},
    **{path.name: lambda path=path: read_strings(path) for path in MODULES},
    PAGE: lambda: (ROOT / "docs" / PAGE).read_text(),
    "glossary.md": lambda: (LESSONS / "glossary.md").read_text(),
}


@cache
def list_held(name: str) -> list[str]:
    """Return the templates of a text, each filled with what its expression makes."""
    filled = []
    for template, compute in HELD.get(name, ()):
        value = compute()
        if "{" in template:
            filled.append(template.format(*value if isinstance(value, tuple) else (value,)))
        else:
            filled.append(template if value else f"{template} (this is false)")
    return filled


def find_fragment(fragment: str, text: str) -> list[range]:
    """Return where a text has a fragment; line ends count as blanks."""
    pattern = r"\s+".join(map(re.escape, fragment.split()))
    return [range(*found.span()) for found in re.finditer(pattern, text)]


def list_numbers(name: str, text: str) -> list[str]:
    """Return the numbers that nothing explains, each with the text around it."""
    explained = [range(*found.span()) for found in FORM.finditer(text)]
    for fragment in [*list_held(name), *GIVEN.get(name, ())]:
        explained += find_fragment(fragment, text)
    return [
        text[max(0, found.start() - 40) : found.end() + 40]
        for found in NUMBER.finditer(text)
        if not any(found.start() in span for span in explained)
    ]


@pytest.mark.parametrize("name", HELD)
def test_numbers_that_come_from_data_are_what_the_data_give(name: str):
    text = TEXTS[name]()
    assert [fragment for fragment in list_held(name) if not find_fragment(fragment, text)] == []


@pytest.mark.parametrize("name", TEXTS)
def test_every_number_of_a_text_is_held_by_an_expression_or_listed_as_given(name: str):
    assert list_numbers(name, TEXTS[name]()) == []


@pytest.mark.parametrize("name", GIVEN)
def test_every_number_listed_as_given_is_still_in_its_text(name: str):
    text = TEXTS[name]()
    assert [fragment for fragment in GIVEN[name] if not find_fragment(fragment, text)] == []


def test_a_statement_that_the_data_refute_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(HELD, "page", [("XML is faster", lambda: np.bool_(False))])
    assert find_fragment(list_held("page")[0], "XML is faster") == []


def test_a_given_number_is_listed_with_the_words_around_it():
    fragments = chain.from_iterable(GIVEN.values())
    assert [one for one in fragments if not re.search("[a-z]{3}", NUMBER.sub("", one))] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("85 %", "86 %"),
        ("680 µs", "690 µs"),
        ("a factor of ten", "a factor of three"),
        ("*faster* than JSON", "*faster* than JSON in 5 blocks"),
    ],
)
def test_a_number_that_is_changed_or_added_is_found(old: str, new: str):
    text = TEXTS["2_warm_up"]()
    assert old in text
    assert list_numbers("2_warm_up", text.replace(old, new)) != []


def list_sentences(text: str) -> list[str]:
    """Return the sentences of a markdown text; a list's item and a table's cell end one, too."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$|<!--.*?-->", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts: list[str] = []
    for line in text.splitlines():
        line = re.sub(r"^\s*(#+|[-*]|\d+\.)\s+", "", line)
        for cell in line.split("|"):
            parts += re.split(r"(?<=[.?!:;])[*\")]*\s+", cell)
    return [part.strip() for part in parts if part.strip()]


def count_words(sentence: str) -> int:
    """Return the number of words; `1.05` and `driver's` are one each."""
    return len(re.findall(r"[\w%]+(?:[.,']\w+)*", sentence))


@pytest.mark.parametrize("name", [*TEACHERS, "glossary.md"])
def test_no_sentence_of_a_lesson_is_long(name: str):
    long = [
        sentence
        for sentence in list_sentences(TEXTS[name]())
        if count_words(sentence) > LONGEST_SENTENCE
    ]
    assert long == []


@pytest.mark.parametrize("name", TEACHERS)
def test_every_question_for_the_class_has_an_answer_in_the_solutions_only(name: str):
    teacher, student = read_markdown(TEACHERS[name]), read_markdown(LESSONS / f"{name}.ipynb")
    asked = re.findall(r"\*\*Discuss (\d)\.\*\*", student)
    assert asked == [str(number) for number in range(1, len(asked) + 1)] and asked
    assert re.findall(r"^- \*Discuss (\d)\.\*", teacher, re.MULTILINE) == asked
    assert "What to listen for" in teacher and "What to listen for" not in student
