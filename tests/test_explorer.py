"""The explorer's answers are those of the suite's tables, and its page works in a browser. A file's are measured."""

import asyncio
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchbook import cli, grid, registry
from benchbook.analysis import Analysis, Comparison
from benchbook.analysis.runs import Run
from benchbook.analysis.sides import shared
from benchbook.explorer import documents, questions, site, your_documents
from benchbook.explorer.questions import Answer, Answers
from browsers import Watched, needs_browser, started
from own_files import export
from waiting import comes_true


@pytest.fixture(scope="module")
def reference() -> Analysis:
    return Run.of_reference().analysis


def answers_about(analysis: Analysis, study: str, name: str) -> Answers:
    measured = analysis.measured[study]
    (pairs,) = [one for one in questions.list_pairs(measured) if one.name == name]
    return questions.answer_all(measured, pairs)


def first_answer(answers: Answers, **wanted: Any) -> Answer:
    return next(one for one in answers.answers if wanted.items() <= one.chosen.items())


def test_the_answer_is_the_row_of_the_table_of_comparisons(reference: Analysis):
    answers = answers_about(reference, "crud", "replicated against single")
    answer = first_answer(answers, operation="insert", engine="mongodb", n=1000)
    table = reference.tables[reference.tables["name"] == "replicated against single"]
    (row,) = [
        row
        for row in Comparison.of(table)
        if (row.settings, row.operation, row.metric) == (answer.comparison.settings, "insert", answer.comparison.metric)
    ]
    assert str(replace(row, label="")) == str(answer.comparison)  # NaN is not NaN
    assert row.low < row.estimate < row.high


@pytest.mark.parametrize("study", ["bookstore", "crud", "drivers", "replication", "tcp"])
def test_no_two_quantities_to_choose_from_say_the_same(reference: Analysis, study: str):
    measured = reference.measured[study]
    for pairs in questions.list_pairs(measured):
        papers = set(pairs.every_quantity())
        answers = questions.answer_all(measured, pairs)
        offered = list(dict.fromkeys((one.chosen["operation"], *one.chosen["measure"]) for one in answers.answers))
        assert papers.intersection(measured.quantities) <= set(offered)
        ratios: dict[tuple[str, str, str], list[float]] = {}
        for answer in answers.answers:
            quantity = answer.chosen["operation"], *answer.chosen["measure"]
            blocks = shared(answer.sides.values())
            a, b = (answer.sides[name].only(blocks).values for name in ("a", "b"))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios.setdefault(quantity, []).extend(a / b)
        for quantity, other in itertools.combinations(ratios, 2):
            if quantity[:2] == other[:2] and not {quantity, other} <= papers and set(ratios[quantity]) != {1.0}:
                assert ratios[quantity] != pytest.approx(ratios[other], rel=1e-9, nan_ok=True), (quantity, other)
        labels = {(operation, questions.call_option(pairs, "measure", of_it)) for operation, *of_it in offered}
        assert len(labels) == len(offered)


def test_no_two_engines_to_choose_from_are_called_the_same():
    called = [questions.call_level("engine", engine) for engine in registry.ENGINES]
    assert len({*called}) == len(called) and {"MongoDB", "MongoDB, mongoengine", "MySQL (tables)"} < {*called}


def told(*ends: tuple[float, float], blocks: int = 5) -> str:
    """Return what is said of as many levels beside the fastest, each with the interval of its ratio."""
    about: dict[str, Any] = {"study": "crud", "name": "Which store?", "language": "python", "operation": "select"}
    about |= {"role": "client", "metric": "elapsed_time", "unit": "ns", "label": "", "settings": {}, "n": 40}
    rows = [
        Comparison(a=f"S{at}", b="S1", estimate=1.02, low=low, high=high, blocks=blocks, **about)
        for at, (low, high) in enumerate(ends, 2)
    ]
    return documents._sentence("to read", rows)


def test_levels_that_cannot_be_told_from_the_fastest_are_named_and_alike_only_within_the_margin():
    surely = "S1 was the fastest to read; the next, S2 took 1.020 (1.010 to 1.030) times as long."
    assert told((1.01, 1.03), (1.2, 1.3)) == surely
    assert told((0.97, 1.07)).endswith("They are alike within 10%.")
    assert told((0.2, 4.4)).endswith("More blocks narrow the interval, most on another day: --blocks 10.")
    # One that was measured less surely is not passed over for the next.
    apart = "S1 and S3 cannot be told apart to read in 5 blocks: S3 took 1.0 (0.1 to 30.7) times as long"
    assert told((1.01, 1.03), (0.1, 30.7)).startswith(f"{apart}; S2 took longer. More")
    assert told((0.9, 1.2), (0.8, 1.3)).startswith("S1, S2 and S3 cannot be told apart to read in 5 blocks. More")


def test_an_answer_of_few_blocks_says_how_many_are_missing_and_how_to_add_them():
    said = told((np.nan, np.nan), blocks=3)
    assert said == "S2 took 1.02 times as long to read as S1, in 3 blocks. 2 blocks more for an interval: --blocks 5."


@pytest.fixture
def two_runs(reference: Analysis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Analysis]:
    """Return results of this machine and a reference run, both a part of the committed run; the command has them."""
    means = reference.means[reference.means["study"] == "crud"]
    here = Run("here", Analysis(means[(means["engine"] != "couchdb") & (means["block"] < 6)]))
    committed = Run("reference", Analysis(means))
    monkeypatch.setattr(Run, "of_results", lambda *_: here)
    monkeypatch.setattr(Run, "of_reference", lambda: committed)
    monkeypatch.setattr(grid, "finished", dict)
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    return {HERE: here.analysis, REFERENCE: committed.analysis}


HERE, REFERENCE = "this machine's results", "the reference run"


def test_explore_writes_a_page_and_opens_it_unless_told_not_to_or_without_a_display(
    two_runs: dict[str, Analysis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{opened}"\n')
    browser.chmod(0o755)
    page = tmp_path / "figures" / "explorer" / "index.html"
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    assert cli.main(["explore", "--no-open"]) == cli.DONE
    assert capsys.readouterr().out == f"{page}\n"
    assert page.is_file() and not opened.exists()
    assert cli.main(["explore"]) == cli.DONE
    assert comes_true(lambda: opened.exists() and opened.read_text() == page.as_uri())
    opened.unlink()
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert cli.main(["explore"]) == cli.DONE
    assert not opened.exists()


@needs_browser
def test_the_page_shows_your_results_beside_the_reference_run_as_a_file(two_runs: dict[str, Analysis], tmp_path: Path):
    (page, *_) = site.write_page(tmp_path / "page", two_runs)
    question = {"operation": "insert", "a": "mysql+relational", "b": "postgresql+relational", "n": 1000}
    ours, theirs = (
        site.headline(first_answer(answers_about(run, "crud", "engine against engine"), **question).comparison)
        for run in two_runs.values()
    )
    with started() as browser:
        watched = Watched(browser, "file:", "data:", "blob:")
        watched.page.goto(page.as_uri())
        answer, beside = watched.page.locator(".bb-answer"), watched.page.locator(".bb-beside")
        beside.get_by_text("In the reference run: ").wait_for()
        assert ours["words"] in answer.inner_text()
        assert f"{theirs['value']}, {theirs['between']}" in beside.inner_text()

        # The reference run has more, such as a database that did not run here; the address keeps which run it is.
        watched.page.get_by_label("Numbers of", exact=True).select_option(REFERENCE)
        beside.get_by_text("In this machine's results: ").wait_for()
        assert theirs["words"] in answer.inner_text()
        watched.page.get_by_label("This", exact=True).select_option(label="CouchDB")
        beside.get_by_text("In this machine's results: not measured.").wait_for()
        said = answer.inner_text()
        watched.page.reload()
        watched.page.wait_for_function("was => document.querySelector('.bb-answer')?.innerText === was", arg=said)

        assert watched.complaints == []
        for width, scheme in ((1280, "light"), (390, "dark")):
            watched.page.set_viewport_size({"width": width, "height": 800})
            watched.page.emulate_media(color_scheme=scheme)
            assert watched.faults() == []
            assert watched.page.evaluate("() => document.documentElement.scrollWidth") <= width


@needs_browser
def test_the_page_waits_for_answers_that_are_still_being_written(two_runs: dict[str, Analysis], tmp_path: Path):
    pages = site.write_page(tmp_path / "page", two_runs)
    page = next(pages)
    with started() as browser:
        shown = browser.new_page()
        shown.goto(page.as_uri())
        shown.locator(".bb-ratio").wait_for()
        shown.get_by_label("Numbers of", exact=True).select_option(REFERENCE)
        shown.locator(".bb-waiting").wait_for()
        assert [*pages]
        shown.get_by_text("In this machine's results: ").wait_for()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["missing.csv"], "missing.csv: there is no such file"),
        (["export.csv", "json-or-xlm"], "did you mean 'json-or-xml'?"),
        (["export.csv", "--blocks", "0"], "a number above 0, not 0"),
    ],
)
def test_a_file_or_a_question_that_there_is_not_is_refused_before_anything_runs(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    export(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHBOOK_HOME", str(Path(__file__).parents[1]))
    assert cli.main(["ask", *words]) == cli.USAGE
    assert says in capsys.readouterr().err


TOLD = (
    r"XML \(\w+\) took [\d.,]+ \([^()]+\) times as long to read as JSON \(\w+\)"
    r"|(JSON|XML) \(\w+\) and (JSON|XML) \(\w+\) cannot be told apart to read in 5 blocks: "
)
"""What is said of reading; on a busy machine few blocks may not tell the two apart."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a file of records; what is measured of it is kept for all tests."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHBOOK_RESULTS", str(folder / "results"))
        yield export(folder)


def test_json_or_xml_is_answered_in_a_terminal_with_what_is_understood_of_the_file(
    measured: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["ask", str(measured)]) == cli.DONE
    said, progress = capsys.readouterr()
    assert "UTF-8 with a byte order mark, Windows line ends, delimiter semicolon, decimal comma" in said
    assert re.search(r"Betrag +float +– +–\n.*Menge +integer +\d+ %", said, re.DOTALL)
    assert "Leer is empty in every row, and left out." in said
    assert "JSON or XML? 40 records, handled as one document, in a file." in said
    assert re.search(TOLD, said)
    assert re.search(r"Size: XML [\d.]+ KB, JSON [\d.]+ KB: [\d.]+ times\.", said)
    assert re.search(r"Measured through (orjson|lxml) [\d.]+, (orjson|lxml) [\d.]+\.", said)
    assert "cells: 5, 5 done" in progress


def test_the_notebook_s_widgets_understand_a_file_measure_it_and_show_the_answer(measured: Path):
    page = your_documents.YourDocuments()
    page._measure.click()
    assert "no file: pick one, or write its path" in page._status.value
    page._path.value = str(measured.with_name("missing.csv"))
    assert "missing.csv" in page._understood.value
    page._path.value = f"{measured}#decimal=point"
    assert "decimal point" in page._understood.value and '<td data-head="type">text</td>' in page._understood.value
    page._path.value = str(measured)
    assert "decimal comma" in page._understood.value
    assert page._records.value == 40
    asyncio.run(answered(page))
    assert re.search(TOLD, page._answers.value)
    assert "Time of 40 records" in page._answers.value
    # A store's cells are planned with their servers, which only the main thread may start.
    page._questions["json-or-xml"].value = False
    page._questions["which-driver"].value = True
    page._records.value = 10
    asyncio.run(answered(page))
    assert "Driver or object mapper?" in page._answers.value


async def answered(page: your_documents.YourDocuments) -> None:
    """Click, and wait until the answers are there, as a kernel's loop does."""
    page._measure.click()
    assert page._measure.disabled
    await page._task
    assert not page._measure.disabled
