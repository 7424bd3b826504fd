"""The explorer's answers are those of the suite's tables, and its page works in a browser."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from benchbook import cli
from benchbook.analysis.block_means import find_shared_blocks
from benchbook.analysis.runs import Analysis, Run
from benchbook.analysis.study_means import StudyMeans
from benchbook.cli.command import DONE
from benchbook.explorer import questions, site
from benchbook.explorer.questions import Answer, Answers
from benchbook.explorer.text import describe_comparison, label_control, label_option
from benchbook.papers import exhibits
from benchbook.registry import products
from benchbook.registry.papers import PAPERS
from browser import WatchedPage, needs_browser, start_browser
from waiting import comes_true


def answers_about(analysis: Analysis, study: str, name: str) -> Answers:
    measured = analysis.studies[study]
    (pairs,) = [one for one in questions.list_pairs(measured) if one.name == name]
    return questions.compute_answers(measured, pairs)


def first_answer(answers: Answers, **wanted: Any) -> Answer:
    return next(one for one in answers.answers if wanted.items() <= one.chosen.items())


def test_an_answer_equals_its_row_in_the_table_of_comparisons(committed: Analysis):
    answers = answers_about(committed, "crud", "replicated against single")
    answer = first_answer(answers, operation="insert", database="mongodb", n=1000)
    (row,) = [
        row
        for row in committed.tables
        if (row.name, row.settings, row.operation, row.metric)
        == (
            "replicated against single",
            answer.comparison.settings,
            "insert",
            answer.comparison.metric,
        )
    ]
    # As texts, because NaN is not NaN.
    assert str(replace(row, label="", p_holm=nan)) == str(answer.comparison)
    assert row.low < row.estimate < row.high


def are_equal(ratios: Sequence[float], others: Sequence[float]) -> bool:
    """Return whether two lists have the same numbers, to nine digits."""
    same_length = len(ratios) == len(others)
    return same_length and np.allclose(ratios, others, rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("study", PAPERS)
def test_no_two_quantities_have_the_same_label_or_ratios_and_no_choice_two_answers(
    committed: Analysis, study: str
):
    measured = committed.studies[study]
    for pairs in questions.list_pairs(measured):
        papers = set(pairs.list_quantities())
        answers = questions.compute_answers(measured, pairs)
        offered = list(
            dict.fromkeys(
                (one.chosen["operation"], *one.chosen["measure"]) for one in answers.answers
            )
        )
        assert papers.intersection(measured.quantities) <= set(offered)
        ratios: dict[tuple[str, str, str], list[float]] = {}
        for answer in answers.answers:
            quantity = answer.chosen["operation"], *answer.chosen["measure"]
            blocks = find_shared_blocks(answer.sides.values())
            a, b = (answer.sides[name].select_blocks(blocks).values for name in ("a", "b"))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios.setdefault(quantity, []).extend(a / b)
        for quantity, other in itertools.combinations(ratios, 2):
            if (
                quantity[:2] == other[:2]
                and not {quantity, other} <= papers
                and set(ratios[quantity]) != {1.0}
            ):
                assert not are_equal(ratios[quantity], ratios[other]), (quantity, other)
        labels = {
            (operation, label_option(pairs, "measure", of_it)) for operation, *of_it in offered
        }
        assert len(labels) == len(offered)
        # A choice has one answer, also where some blocks measured the levels in one process.
        choices = [repr(one.chosen) for one in answers.answers]
        assert len(set(choices)) == len(choices)


def test_no_two_databases_have_the_same_label():
    called = [products.name_level("database", database) for database in products.ADAPTERS]
    assert len({*called}) == len(called) and {
        "MongoDB",
        "MongoDB (mongoengine)",
        "MySQL (tables)",
    } < {*called}


def test_every_option_has_a_label_in_plain_words(committed: Analysis):
    measured = committed.studies["drivers"]
    for pairs in questions.list_pairs(measured):
        answers = questions.compute_answers(measured, pairs)
        labels = [label_control(name) for name in answers.options]
        for name, options in answers.options.items():
            labels += [label_option(pairs, name, option) for option in options]
        assert not any("_" in label for label in labels), pairs.name
    assert products.name_level("process", "together") == "both in one process"


def test_an_answer_from_noisy_blocks_only_is_marked_as_no_verdict(committed: Analysis):
    means = committed.studies["crud"].means
    quiet, noisy = (StudyMeans("crud", means.assign(noisy=is_noisy)) for is_noisy in (False, True))
    for measured, is_noisy in ((quiet, False), (noisy, True)):
        (pairs,) = [
            one for one in questions.list_pairs(measured) if one.name == "database against database"
        ]
        shown = site.encode_answers(measured, pairs)["answers"][0]
        assert shown["noisy"] == is_noisy and shown["ratio"] > 0 and len(shown["blocks"]) > 1
        assert ("no verdict" in shown["headline"]["open"]) == is_noisy


@pytest.fixture
def two_runs(
    committed: Analysis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, Analysis]:
    """Return two parts of the reference run, as this machine's results and as the reference run."""
    means = committed.means[committed.means["study"] == "crud"]
    means = means[means["n"].isin([1000, 10000]) & (means["operation"] != "delete")]
    here = Run("here", Analysis(means[(means["database"] != "couchdb") & (means["block"] < 6)]))
    reference = Run("reference", Analysis(means))
    monkeypatch.setattr(Run, "read_results", lambda *_: here)
    monkeypatch.setattr(Run, "read_reference", lambda: reference)
    monkeypatch.setattr("benchbook.cli.explorer.list_finished_ids", set)
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    return {HERE: here.analysis, REFERENCE: reference.analysis}


HERE, REFERENCE = "this machine's results", "the reference run"


def test_explore_prints_its_page_first_and_opens_it_except_with_no_open_or_without_a_display(
    two_runs: dict[str, Analysis],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{opened}"\n')
    browser.chmod(0o755)
    page = tmp_path / "figures" / "explorer" / "index.html"
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    # The page is printed before anything is read.
    printed = []

    def list_none() -> set[str]:
        printed.append((capsys.readouterr(), page.is_file()))
        return set()

    monkeypatch.setattr("benchbook.cli.explorer.list_finished_ids", list_none)
    assert cli.main(["explore", "--no-open"]) == DONE
    (((out, err), is_there),) = printed
    assert out == f"{page}\n" and is_there
    assert err == "reading this machine's results ...\n"
    steps = capsys.readouterr().err.splitlines()
    assert steps[0] == "reading the reference run ..." and steps[-1] == "all answers are written"
    assert not opened.exists()
    # With a browser it is opened.
    assert cli.main(["explore"]) == DONE
    assert comes_true(lambda: opened.exists() and opened.read_text() == page.as_uri())
    opened.unlink()
    # Without a display it is not.
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert cli.main(["explore"]) == DONE
    assert not opened.exists()


def write_explorer(folder: Path, runs: dict[str, Analysis]) -> Path:
    """Write the explorer of some runs with all answers."""
    path = site.write_explorer_page(folder)
    for _ in site.write_answers(folder / site.ANSWERS, runs):
        pass
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with start_browser() as browser:
        yield browser


@needs_browser
def test_the_page_opens_with_the_headline_and_a_claim_leads_to_its_comparison(
    committed: Analysis, tmp_path: Path, browser: Any
):
    means = committed.means[committed.means["study"] == "bookstore"]
    analysis = Analysis(means)
    claims = {claim.id: claim for claim in site.list_claims(analysis, "bookstore")}
    headline = claims[exhibits.HEADLINES["bookstore"].claim].line
    path = write_explorer(tmp_path / "page", {REFERENCE: analysis})
    watched = WatchedPage(browser, "file:", "data:", "blob:")
    watched.page.goto(path.as_uri())
    answer = watched.page.locator(".bb-answer")
    answer.get_by_text(headline.here).first.wait_for()
    lines = watched.page.locator(".bb-claims li")
    first = lines.first.inner_text()
    shown = [
        headline.verdict,
        headline.counts,
        headline.says,
        headline.paper,
        headline.measured,
    ]
    assert [part for part in shown if part not in first] == []
    # Behind the fold there is a line for each claim, and a link from each that is among the
    # comparisons.
    watched.page.get_by_text(str(len(claims)) + " claims: ").click()
    assert lines.count() == 1 + len(claims)
    linked = [line for line in lines.all() if line.get_by_role("link").count()]
    assert len(linked) > len(claims) / 2
    for line in linked[-3:]:
        here = line.get_by_role("link").inner_text()
        line.get_by_role("link").click()
        answer.get_by_text(here).first.wait_for()
    # The table of other levels has as many rows as its heading says.
    heading = watched.page.get_by_text(re.compile(r"At other levels \(\d+\)"))
    said = int(re.sub(r"\D", "", heading.inner_text()))
    table = watched.page.get_by_role("table").filter(has_text="at all levels that ran")
    assert table.locator("tbody tr").count() == said > 1
    assert watched.complaints == []


@needs_browser
def test_the_page_shows_your_results_beside_the_reference_run_as_a_file(
    two_runs: dict[str, Analysis], tmp_path: Path, browser: Any
):
    path = write_explorer(tmp_path / "page", two_runs)
    question = {
        "operation": "insert",
        "a": "mysql+relational",
        "b": "postgresql+relational",
        "n": 1000,
    }
    answers = [
        first_answer(answers_about(run, "crud", "database against database"), **question)
        for run in two_runs.values()
    ]
    ours, theirs = (describe_comparison(answer.comparison) for answer in answers)
    chosen = {name: site.encode_option(option) for name, option in answers[0].chosen.items()}
    watched = WatchedPage(browser, "file:", "data:", "blob:")
    watched.page.goto(f"{path.as_uri()}#{urlencode({'study': 'crud', **chosen})}")
    answer, beside = watched.page.locator(".bb-answer"), watched.page.locator(".bb-beside")
    beside.get_by_text("In the reference run: ").wait_for()
    assert ours["words"] in answer.inner_text()
    assert f"{theirs['value']}, {theirs['between']}" in beside.inner_text()

    # The reference run has more, such as a database that did not run here; the address keeps
    # which run it is.
    watched.page.get_by_label("Run", exact=True).select_option(REFERENCE)
    beside.get_by_text("In this machine's results: ").wait_for()
    assert theirs["words"] in answer.inner_text()
    watched.page.get_by_label("This", exact=True).select_option(label="CouchDB")
    beside.get_by_text("In this machine's results: not measured.").wait_for()
    said = answer.inner_text()
    watched.page.reload()
    watched.page.wait_for_function(
        "was => document.querySelector('.bb-answer')?.innerText === was", arg=said
    )

    assert watched.complaints == []
    watched.check_layouts()


@needs_browser
def test_the_page_waits_for_answers_that_are_still_being_written(
    two_runs: dict[str, Analysis], tmp_path: Path, browser: Any
):
    folder = tmp_path / "page"
    path = site.write_explorer_page(folder)
    shown = browser.new_page()
    shown.goto(path.as_uri())
    shown.get_by_text("Reading the results").wait_for()
    pages = site.write_answers(folder / site.ANSWERS, two_runs)
    next(pages)
    shown.locator(".bb-ratio").wait_for()
    shown.get_by_label("Run", exact=True).select_option(REFERENCE)
    shown.locator(".bb-waiting").wait_for()
    assert [*pages]
    shown.get_by_text("In this machine's results: ").wait_for()
