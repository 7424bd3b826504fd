"""Helps and messages are free of the former dialect, in sentences of at most 25 words."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchbook.cli import command as command_line
from checkout import ROOT
from dialect import (
    count_words,
    find_code_dialect,
    find_dialect,
    find_long_sentences,
    read_comments,
    read_literals,
)

LIBRARY = ROOT / "lib" / "benchbook"
MESSAGES = sorted(
    [*(LIBRARY / "cli").rglob("*.py"), LIBRARY / "runner" / "progress.py", ROOT / "setup.sh"]
)

NAMES = {
    "lib/benchbook/datasets/streams.py",  # the words of the texts that are generated
    "lib/benchbook/text/suggestions.py",  # old names, each with its new one
    "lib/benchbook/registry/plugins.py",
    "lib/benchbook/results/additions.py",
    "lib/benchbook/results/schema.py",
    "lib/benchbook/servers/launcher.py",  # a key of stored settings
    "lib/benchbook/servers/programs.py",  # a user of Unix
    "lib/benchbook/databases/couchdb/server.py",  # a configuration's comments
    # As in the next module, its texts identify cells.
    "lib/benchbook/servers/errors.py",
    "lib/benchbook/servers/networks.py",
}
"""Modules in whose strings a word of the list is a name, or is what cells are identified by."""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name in action.choices:
                yield from parsers(action.choices[name])


PARSERS = list(parsers(command_line.build_parser()))


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.prog.replace(" ", "-"))
def test_every_help_is_in_plain_words_and_says_what_each_option_does(
    parser: argparse.ArgumentParser,
) -> None:
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    helps = {
        action.dest: action.help
        for action in shown
        if not isinstance(action, argparse._SubParsersAction)
    }
    assert all(helps.values()), helps
    commands = [action for action in shown if isinstance(action, argparse._SubParsersAction)]
    choices: list[str] = []
    for action in commands:
        choices += [choice.help or "" for choice in action._choices_actions]
    texts = [parser.description or "", *choices, *filter(None, helps.values())]
    assert parser.description, "a help begins with what the command does"
    for text in texts:
        assert find_dialect(text) == [] and count_words(text) <= 25, text


@pytest.mark.parametrize("file", MESSAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_messages_are_in_plain_words_and_short_sentences(file: Path) -> None:
    literals = (
        read_literals(file) if file.suffix == ".py" else enumerate(file.read_text().split('"'))
    )
    for line, text in literals:
        assert find_dialect(text) == [], f"{file}:{line}"
        assert find_long_sentences(text) == [] or "SELECT" in text or "\n" in text, (
            f"{file}:{line}: {text}"
        )


SOURCES = [
    *sorted(path for path in LIBRARY.iterdir() if path.name not in ("cli", "__pycache__")),
    ROOT / "tools",
    ROOT / "benchmarks",
    ROOT / "contrib" / "benchbook-more-databases" / "benchbook_more_databases",
    ROOT / "notebooks" / "lessons" / "benchbook_lessons",
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_no_string_has_a_word_of_the_dialect(source: Path) -> None:
    found = []
    for path in [source] if source.suffix else sorted(source.rglob("*.py")):
        if str(path.relative_to(ROOT)) not in NAMES:
            for line, text in read_literals(path):
                found += [f"{path}:{line}: {word}" for word in find_dialect(text)]
    assert found == []


def test_one_place_says_how_a_ratio_of_times_is_written() -> None:
    found = []
    for path in LIBRARY.rglob("*.py"):
        found += [path.name for _, text in read_literals(path) if "times as long" in text]
    assert found == ["sentences.py"]


COMMENTED = [
    *(ROOT / name for name in ("Makefile", "setup.sh", "Dockerfile", "environment.yml", ".ci/run")),
    ROOT / "data" / "papers.yaml",
    *sorted((ROOT / "data").glob("*/*.yaml")),
    *sorted((ROOT / "papermill_params").glob("*.yaml")),
    *sorted((ROOT / "harness" / "java" / "src").rglob("*.java")),
    *sorted((ROOT / "harness" / "maven").glob("*.java")),
    *sorted((ROOT / "harness" / "node").glob("*.js")),
    # The scripts of pages.
    *sorted((LIBRARY / "explorer" / "assets").glob("*.js")),
    *sorted((LIBRARY / "report" / "template").glob("*.js")),
    *sorted((ROOT / "docs" / "_static").glob("*.js")),
]


@pytest.mark.parametrize("file", COMMENTED, ids=lambda file: str(file.relative_to(ROOT)))
def test_comments_beside_python_are_in_plain_words(file: Path) -> None:
    for line, text in read_comments(file):
        assert find_code_dialect(text) == [], f"{file}:{line}"


@pytest.mark.parametrize("file", [path for path in COMMENTED if path.suffix == ".yaml"])
def test_texts_of_data_and_grids_are_in_plain_words(file: Path) -> None:
    assert find_dialect(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Two cells a block, three contexts an object, one call per comment.", 2),
        ("Whoever asks, nobody stood in its lane.", 4),
        ("one line a product; a row a mark", 2),
        ("There is none here, and the container engine is up: see `engine=mongodb`.", 0),
        ("The margin is none; the engine lacks a room.", 4),
        ("1.39 us a call, 22 bytes an attribute, 300 dots an inch; 50 bytes per book", 3),
    ],
)
def test_the_words_of_the_dialect_are_found(text: str, count: int) -> None:
    assert len(find_dialect(text)) == count


def test_sentences_that_are_too_long_are_found() -> None:
    short, long = " ".join(["Word"] * 25) + ".", " ".join(["Word"] * 26) + "."
    assert find_long_sentences(f"{short} {long} {short}") == [long]
    assert (
        find_long_sentences(f"| {' | '.join(['word'] * 20)} |\n| {' | '.join(['word'] * 20)} |")
        == []
    )
