"""Helps and messages have no word of the library's former dialect, and no sentence of more than 25 words."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchbook import cli
from dialect import count_words, find_dialect, find_long_sentences, read_literals
from test_project import ROOT

LIBRARY = ROOT / "lib" / "benchbook"
MESSAGES = sorted([*(LIBRARY / "cli").rglob("*.py"), LIBRARY / "runner" / "progress.py", ROOT / "setup.sh"])

NAMES = {
    "datasets/streams.py",  # the words of the texts that are generated
    "inputs.py",  # old names, each with its new one
    "plugins.py",
    "results/former.py",
    "servers/__init__.py",  # a key of stored settings
    "servers/programs.py",  # a user of Unix
    "databases/couchdb/server.py",  # a configuration's comments
    "servers/errors.py",  # as the next, identifies cells: its words change with its next version
    "networks/__init__.py",
}
"""Modules in whose strings a word of the list is a name, or is what cells are identified by."""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name in action.choices:
                yield from parsers(action.choices[name])


PARSERS = list(parsers(cli._parser()))


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.prog.replace(" ", "-"))
def test_every_help_is_in_plain_words_and_says_what_each_option_does(parser: argparse.ArgumentParser) -> None:
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    helps = {action.dest: action.help for action in shown if not isinstance(action, argparse._SubParsersAction)}
    assert all(helps.values()), helps
    commands = [action for action in shown if isinstance(action, argparse._SubParsersAction)]
    choices = [choice.help or "" for action in commands for choice in action._choices_actions]
    texts = [parser.description or "", *choices, *filter(None, helps.values())]
    assert parser.description, "a help begins with what the command does"
    for text in texts:
        assert find_dialect(text) == [] and count_words(text) <= 25, text


@pytest.mark.parametrize("file", MESSAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_messages_are_in_plain_words_and_short_sentences(file: Path) -> None:
    literals = read_literals(file) if file.suffix == ".py" else enumerate(file.read_text().split('"'))
    for line, text in literals:
        assert find_dialect(text) == [], f"{file}:{line}"
        assert find_long_sentences(text) == [] or "SELECT" in text or "\n" in text, f"{file}:{line}: {text}"


@pytest.mark.parametrize(
    "package", sorted({path.relative_to(LIBRARY).parts[0] for path in LIBRARY.rglob("*.py")} - {"cli"})
)
def test_no_string_of_the_library_has_a_word_of_the_dialect(package: str) -> None:
    found = []
    for path in [LIBRARY / package] if package.endswith(".py") else sorted((LIBRARY / package).rglob("*.py")):
        if str(path.relative_to(LIBRARY)) not in NAMES:
            found += [f"{path}:{line}: {word}" for line, text in read_literals(path) for word in find_dialect(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Whoever asks, nobody stood in its lane.", 4),
        ("one line a product; a row a mark", 2),
        ("There is none here, and the container engine is up: see `engine=mongodb`.", 0),
        ("The margin is none; the engine lacks a room.", 4),
    ],
)
def test_the_words_of_the_dialect_are_found(text: str, count: int) -> None:
    assert len(find_dialect(text)) == count


def test_sentences_that_are_too_long_are_found() -> None:
    short, long = " ".join(["Word"] * 25) + ".", " ".join(["Word"] * 26) + "."
    assert find_long_sentences(f"{short} {long} {short}") == [long]
    assert find_long_sentences(f"| {' | '.join(['word'] * 20)} |\n| {' | '.join(['word'] * 20)} |") == []
