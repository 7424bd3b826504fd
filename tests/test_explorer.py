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
from scipy.special import stdtrit

from benchbook import cli, registry
from benchbook.evidence import Evidence
from benchbook.evidence.effects import Effect
from benchbook.evidence.sides import shared
from benchbook.explorer import contrasts, documents, site, your_documents
from benchbook.explorer.sources import HERE, REFERENCE, Source
from browsers import Watched, needs_browser, started
from own_files import export
from waiting import comes_true


@pytest.fixture(scope="module")
def source() -> Source:
    return Source.of_reference()


def asked(source: Source, study: str, comparison: str, **wanted: Any) -> contrasts.Asked:
    return contrasts.ask(source.measured(study), comparison, wanted)


def test_the_answer_is_the_row_of_the_table_of_comparisons(source: Source):
    one = asked(source, "crud", "replicated against single", operation="insert", engine="mongodb", n=1000)
    found = contrasts.answer(one.pair)
    table = Evidence(source.means[source.means["study"] == "crud"]).comparisons
    table = table[(table["comparison"] == "replicated against single") & (table["operation"] == "insert")]
    (row,) = [row for row in table.to_dict("records")
              if (row["host"], row["settings"], row["metric"]) == (one.pair.host, one.pair.common, one.quantity[2])
              ]  # fmt: skip
    for name in ("ratio", "low", "high", "p", "published_ratio"):
        assert getattr(found.row, name) == pytest.approx(row[name])
    a, b = (one.pair.sides[side].of(shared(one.pair.sides.values())) for side in ("a", "b"))
    assert found.row.low < float(np.exp(np.log(a / b).mean())) < found.row.high


def test_the_headline_counts_the_blocks_that_its_ratio_is_of(source: Source):
    pair = asked(source, "bookstore", "XML against JSON").pair
    blocks = len(shared(pair.sides.values()))
    disturbed = np.arange(len(pair.sides["a"].blocks)) == 0
    noisy = replace(pair, sides={**pair.sides, "a": replace(pair.sides["a"], disturbed=disturbed)})
    for asked_of, count in ((pair, blocks), (noisy, blocks - 1)):
        answer = contrasts.answer(asked_of)
        assert answer.row.blocks == count
        assert site.headline(answer).between.endswith(f"over {count} blocks")


def test_what_cannot_be_asked_is_set_to_the_nearest_that_can(source: Source):
    one = asked(source, "bookstore", "XML against JSON", case=3, n=10, operation="no such")
    assert one.factors["n"] == 10
    assert one.factors["case"] == 1
    assert one.quantity[0] in one.options["operation"]


@pytest.mark.parametrize("study", ["bookstore", "crud", "drivers", "replication", "tcp"])
def test_no_two_quantities_to_choose_from_say_the_same(source: Source, study: str):
    measured = source.measured(study)
    for name, comparison in contrasts.comparisons(measured).items():
        papers = set(comparison.every_quantity() if comparison.quantities else ())
        operations = asked(source, study, name).options["operation"]
        offered = [(operation, *measure) for operation in operations
                   for measure in asked(source, study, name, operation=operation).options["measure"]]  # fmt: skip
        assert papers.intersection(measured.quantities) <= set(offered)
        ratios: dict[tuple[str, str, str], list[float]] = {}
        for quantity, _, _, sides in measured.every(comparison.by, comparison.loose, offered):
            blocks = shared(sides.values())
            first, *others = (side.of(blocks) for side in sides.values())
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios.setdefault(quantity, []).extend(float(ratio) for other in others for ratio in other / first)
        for quantity, other in itertools.combinations(ratios, 2):
            if quantity[:2] == other[:2] and not {quantity, other} <= papers and set(ratios[quantity]) != {1.0}:
                assert ratios[quantity] != pytest.approx(ratios[other], rel=1e-9, nan_ok=True), (quantity, other)
        assert len({(operation, contrasts.called_measure(*of_it)) for operation, *of_it in offered}) == len(offered)


def test_no_two_engines_to_choose_from_are_called_the_same():
    called = [contrasts.called_level("engine", engine) for engine in registry.ENGINES]
    assert len({*called}) == len(called) and {"MongoDB", "MongoDB, mongoengine", "MySQL (tables)"} < {*called}


def test_who_cannot_be_told_from_the_fastest_is_named_and_called_alike_only_within_the_margin():
    def told(needed: int, *ends: tuple[float, float]) -> str:
        others = [documents.Raced(f"S{at}", 2, 1.02, low, high) for at, (low, high) in enumerate(ends, 2)]
        fastest = documents.Raced("S1", 1, 1, np.nan, np.nan)
        return documents._sentence("", "to read", [fastest, *others], 3, needed)

    surely = "S1 was the fastest to read; the next, S2, took 1.020 (1.010 to 1.030) times as long."
    assert told(0, (1.01, 1.03), (1.2, 1.3)) == surely
    assert told(0, (0.97, 1.07)).endswith("They are alike within 10 %.")
    assert told(0, (0.2, 4.4)).endswith("nor that there is none; 30 blocks would hardly show it.")
    assert told(8, (0.2, 4.4)).endswith("5 blocks more would do it, if the difference is what it seems.")
    # One that was measured less surely is not passed over for the next.
    apart = "S1 and S3 cannot be told apart to read in 3 blocks: S3 took 1.0 (0.1 to 30.7) times as long"
    assert told(0, (1.01, 1.03), (0.1, 30.7)).startswith(f"{apart}; S2 took longer. No diff")
    assert told(0, (0.9, 1.2), (0.8, 1.3)).startswith("S1, S2 and S3 cannot be told apart to read in 3 blocks. No diff")


def test_how_many_blocks_would_tell_two_sides_apart_is_what_they_then_need():
    apart = Effect(ratio=1.2, low=1.1, high=1.3, blocks=3, error=0.02)
    assert documents.blocks_that_decide(apart) == 0
    unclear = replace(apart, low=0.9, high=1.6, error=0.1)
    blocks = documents.blocks_that_decide(unclear)
    spread = 0.1 * 3**0.5

    def reach(count: int) -> float:
        return float(stdtrit(count - 1, 0.975)) * spread / count**0.5

    assert reach(blocks) < np.log(1.2) <= reach(blocks - 1)
    assert documents.blocks_that_decide(replace(unclear, ratio=1.001)) == 0
    assert documents.blocks_that_decide(replace(unclear, error=np.nan)) == 0


@pytest.fixture
def two_runs(source: Source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Source]:
    """Return results of this machine and a reference run, both a part of the committed run; the command has them."""
    of_study = source.means["study"] == "crud"
    here = Source(HERE, source.means[of_study & (source.means["engine"] != "couchdb") & (source.means["block"] < 6)])
    reference = Source(REFERENCE, source.means[of_study])
    monkeypatch.setattr(Source, "of_here", lambda: here)
    monkeypatch.setattr(Source, "of_reference", lambda: reference)
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    return [here, reference]


def test_explore_writes_a_page_and_opens_it_unless_told_not_to_or_without_a_display(
    two_runs: list[Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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
def test_the_page_shows_your_results_beside_the_reference_run_as_a_file(two_runs: list[Source], tmp_path: Path):
    here, reference = two_runs
    (page, *_) = site.write_page(tmp_path / "page", two_runs)
    question = {"operation": "insert", "a": "mysql+relational", "b": "postgresql+relational", "n": 1000}
    ours, theirs = (
        site.headline(contrasts.answer(asked(source, "crud", "engine against engine", **question).pair))
        for source in (here, reference)
    )
    with started() as browser:
        watched = Watched(browser, "file:", "data:", "blob:")
        watched.page.goto(page.as_uri())
        answer, beside = watched.page.locator(".bb-answer"), watched.page.locator(".bb-beside")
        beside.get_by_text("In the reference run: ").wait_for()
        assert ours.words in answer.inner_text()
        assert f"{theirs.ratio} ×, {theirs.between}" in beside.inner_text()

        # The reference run has more, such as a database that did not run here; the address keeps which run it is.
        watched.page.get_by_label("Numbers of", exact=True).select_option(REFERENCE)
        beside.get_by_text("In this machine's results: ").wait_for()
        assert theirs.words in answer.inner_text()
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
def test_the_page_waits_for_answers_that_are_still_being_written(two_runs: list[Source], tmp_path: Path):
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
    r"|(JSON|XML) \(\w+\) and (JSON|XML) \(\w+\) cannot be told apart to read in 3 blocks: "
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
    assert "cells: 3, 3 done" in progress


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
