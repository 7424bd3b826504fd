"""The map from the papers' comparisons to claims is complete and in the papers' order.

The sentences' words are not here, so a sha cannot be recomputed here: `data/claims/README.md` says
how it is made.
"""

import csv
import itertools
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbook import paths
from benchbook.studies.catalogue import SLUGS

FILES = sorted((paths.root() / "data" / "claims").glob("*.yaml"))
WANTED = 60
SECTION = re.compile(r"\w+( \w+)*")

every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


@cache
def read(file: Path) -> dict[str, Any]:
    """Return a file as plain YAML, without the library's reader of claims."""
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


@cache
def read_sentences(study: str) -> list[dict[str, str]]:
    """Return the rows of `data/claims/sentences.csv` for one paper, in its order."""
    with (paths.root() / "data" / "claims" / "sentences.csv").open(
        encoding="utf-8", newline=""
    ) as table:
        return [row for row in csv.DictReader(table) if row["study"] == study]


def group_sections(file: Path) -> list[tuple[str, list[dict[str, str]]]]:
    """Return the sentences of each unbroken run of one section."""
    runs = itertools.groupby(read_sentences(file.stem), key=lambda one: one["section"])
    return [(section, list(run)) for section, run in runs]


def place(sentence: dict[str, str]) -> str:
    return f"{sentence['section']} {sentence['sentence']}"


def list_cited(sentence: dict[str, str]) -> list[str]:
    return [*sentence["claims"].split(), *sentence["facts"].split()]


@every_file
def test_a_file_is_named_after_its_study(file: Path) -> None:
    assert file.stem in SLUGS
    assert read(file)["study"] == file.stem


def test_five_papers_make_sixty_claims_or_more() -> None:
    assert {file.stem for file in FILES} == set(SLUGS)
    assert sum(len(read(file)["claims"]) for file in FILES) >= WANTED


@every_file
def test_every_sentence_has_claims_or_facts_or_says_why_it_has_none(file: Path) -> None:
    for sentence in read_sentences(file.stem):
        assert bool(list_cited(sentence)) != bool(sentence["why_none"].strip()), place(sentence)


@every_file
def test_a_sentence_names_claims_and_facts_of_its_own_file_once_each(file: Path) -> None:
    facts = {claim["id"] for claim in read(file)["claims"] if "fact" in claim}
    others = {claim["id"] for claim in read(file)["claims"]} - facts
    for sentence in read_sentences(file.stem):
        assert set(sentence["claims"].split()) <= others, place(sentence)
        assert set(sentence["facts"].split()) <= facts, place(sentence)
        assert len(list_cited(sentence)) == len(set(list_cited(sentence))), place(sentence)


@every_file
def test_every_claim_is_made_by_a_sentence(file: Path) -> None:
    named = set[str]()
    for sentence in read_sentences(file.stem):
        named |= {*list_cited(sentence)}
    assert [claim["id"] for claim in read(file)["claims"] if claim["id"] not in named] == []


def test_an_id_names_its_study_and_stands_for_one_claim() -> None:
    ids: list[tuple[str, str]] = []
    for file in FILES:
        ids += [(file.stem, claim["id"]) for claim in read(file)["claims"]]
    assert [name for study, name in ids if name.partition(".")[0] != study] == []
    assert [name for name, count in Counter(name for _, name in ids).items() if count > 1] == []


@every_file
def test_no_two_claims_say_the_same(file: Path) -> None:
    said = Counter(claim["says"] for claim in read(file)["claims"])
    assert [words for words, count in said.items() if count > 1] == []


@every_file
def test_sentences_stand_in_the_papers_order(file: Path) -> None:
    sections = group_sections(file)
    names = [section for section, _ in sections]
    assert len(names) == len(set(names)), "a section that is left is not taken up again"
    for section, sentences in sections:
        assert SECTION.fullmatch(section) and section == section.lower(), section
        numbers = [int(sentence["sentence"]) for sentence in sentences]
        assert numbers[0] >= 1 and all(a < b for a, b in itertools.pairwise(numbers)), section


@every_file
def test_a_sentence_is_known_by_eight_hexadecimal_digits_of_its_own(file: Path) -> None:
    for section, sentences in group_sections(file):
        shas = [sentence["sha"] for sentence in sentences]
        assert all(re.fullmatch("[0-9a-f]{8}", sha) for sha in shas), section
        assert len(shas) == len(set(shas)), section


OUTSIDE = {
    "bookstore": {"concepts", "problem", "setup"},
    "tcp": {"introduction", "xml", "json", "methodology", "threats"},
    "drivers": {"introdução", "fundamentação teórica"},
    "crud": {"introduction", "related work", "document oriented databases"},
    "replication": {"introduction"},
}
"""The sections of each paper that compare, besides those of its results."""


@pytest.mark.parametrize("study", SLUGS)
def test_what_a_paper_compares_outside_its_results_stands_here_too(study: str) -> None:
    assert OUTSIDE[study] <= {sentence["section"] for sentence in read_sentences(study)}


def test_a_paper_does_not_claim_the_results_that_it_quotes() -> None:
    """The replication paper quotes crud's and tcp's results, which those studies claim."""
    quoted = {
        one["sentence"]: one
        for one in read_sentences("replication")
        if one["section"] == "introduction"
    }
    assert all(one["why_none"] for one in quoted.values())
    assert "study crud" in quoted["42"]["why_none"]
    assert "study tcp" in quoted["32"]["why_none"]
