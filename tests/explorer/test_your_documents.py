"""Answers about your documents, in the terminal, on a page and in widgets."""

import asyncio
import csv
import html
import io
import itertools
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from background_load import Others
from benchbook import cli
from benchbook.analysis.block_means import BlockMeans
from benchbook.analysis.comparisons import A_OVER_B, Comparison, compare_means
from benchbook.analysis.forecast import estimate_need
from benchbook.cli.command import DONE, INTERRUPTED, NOTHING_RUNS, USAGE
from benchbook.explorer import your_documents
from benchbook.explorer.documents import (
    AskedQuestion,
    Inquiry,
    load_latest_inquiry,
    request_cells,
)
from benchbook.explorer.replies import answer_questions, find_hardest_need, measure_memory
from benchbook.explorer.text import classify_level, describe_need, describe_scope, write_sentence
from benchbook.own_data.own_records import describe_file, read_file
from benchbook.runner.batch import lock_results
from benchbook.runner.load_monitor import LoadMonitor, NotQuietError
from benchbook.text.sentences import NEAR_PARITY
from browser import WatchedPage, needs_browser, start_browser
from checkout import ROOT
from user_files import write_export


def make_comparisons(
    *ends: tuple[float, float], blocks: int = 5, ratio: float = 1.02
) -> list[Comparison]:
    """Return as many levels beside the fastest, each with the interval of its ratio."""
    about: dict[str, Any] = {
        "study": "crud",
        "name": "Which store?",
        "language": "python",
        "operation": "select",
    }
    about |= {
        "role": "client",
        "metric": "elapsed_time",
        "unit": "ns",
        "label": "",
        "settings": {},
        "n": 40,
    }
    about |= {"machine_days": 1, "error": 0.1}
    return [
        Comparison(a=f"S{at}", b="S1", estimate=ratio, low=low, high=high, blocks=blocks, **about)
        for at, (low, high) in enumerate(ends, 2)
    ]


def write_answer(*ends: tuple[float, float], blocks: int = 5) -> str:
    return write_sentence("to read", make_comparisons(*ends, blocks=blocks))


def test_levels_that_may_be_the_fastest_are_named_and_alike_only_within_the_margin():
    surely = "S1 was the fastest to read; the next, S2 took 1.020 (1.010 to 1.030) times as long."
    assert write_answer((1.01, 1.03), (1.2, 1.3)) == surely
    assert write_answer((0.97, 1.07)) == "S1 and S2 are alike to read, within 10 %."
    assert write_answer((0.2, 4.4)) == "Undecided which is faster to read: S1 or S2."
    # One that was measured less surely is not passed over for the next.
    assert write_answer((1.01, 1.03), (0.1, 30.7)) == "Undecided which is faster to read: S1 or S3."
    assert (
        write_answer((0.9, 1.2), (0.8, 1.3)) == "Undecided which is fastest to read: S1, S2 or S3."
    )


def test_an_answer_of_few_blocks_says_how_many_are_missing_and_how_to_add_them():
    rows = make_comparisons((np.nan, np.nan), blocks=3)
    assert (
        write_answer((np.nan, np.nan), blocks=3)
        == "S2 took 1.02 times as long to read as S1, in 3 blocks: no interval."
    )
    need = find_hardest_need(rows)
    assert need and describe_need(need, 3) == "An interval needs 2 more blocks: 5 in all"


def test_levels_at_parity_are_not_decided_by_more_blocks():
    parity = find_hardest_need(make_comparisons((0.8, 1.3)))
    assert parity and describe_need(parity, 5) == NEAR_PARITY.capitalize()
    assert find_hardest_need(make_comparisons((1.01, 1.03), (0.95, 1.06))) is None


def spread_over(distance: float, count: int) -> Comparison:
    """Return a comparison of blocks of one machine-day, at that distance from no difference."""
    spread = np.linspace(-1, 1, count)
    sides = {
        "a": side(np.exp(distance + spread / spread.std(ddof=1) / 2)),
        "b": side(np.ones(count)),
    }
    (like,) = make_comparisons((np.nan, np.nan))
    return replace(
        like, **compare_means(A_OVER_B, sides, np.array(["today"] * count, dtype=object))
    )


@pytest.mark.parametrize("distance", [1.2, 1.5, 1.8])
def test_the_advised_number_of_blocks_decides_a_comparison_and_one_fewer_does_not(
    distance: float,
):
    need = estimate_need(spread_over(distance, 5))
    assert need.blocks
    assert classify_level(spread_over(distance, 5 + need.blocks)) == "slower"
    assert classify_level(spread_over(distance, 4 + need.blocks)) == "undecided"


def test_a_comparison_that_one_day_cannot_decide_asks_for_other_days_or_gives_up():
    other_days = estimate_need(spread_over(0.8, 5))
    assert not other_days.blocks and other_days.days
    assert "10 in all" in describe_need(other_days, 5)
    hopeless = estimate_need(spread_over(0.1, 5))
    assert describe_need(hopeless, 5) == "More blocks will hardly settle it"


def side(values: Any) -> BlockMeans:
    count = len(values)
    return BlockMeans(
        {}, np.arange(count), np.asarray(values, float), np.zeros(count, dtype=bool), "ns"
    )


def test_one_line_says_how_much_of_a_file_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n' * 40)
    known = describe_file(path, 30)
    first = "Measured: the first 30 records of your file, "
    assert describe_scope(30, known, 5) == f"{first}in 5 blocks (the least for an interval)."
    for count, said in [(40, "all 40 records"), (50, "your 40 records, repeated up to 50")]:
        known = describe_file(path, count)
        assert describe_scope(count, known, 20) == f"Measured: {said}, in 20 blocks."


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["missing.csv"], "missing.csv: there is no such file"),
        (["export.csv", "json-or-xlm"], "did you mean 'json-or-xml'?"),
        (["export.csv", "--blocks", "0"], "must be above 0 (got 0)"),
    ],
)
def test_an_unknown_file_or_question_is_refused_before_anything_runs(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    write_export(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    assert cli.main(["ask", *words]) == USAGE
    assert says in capsys.readouterr().err


pytestmark = pytest.mark.usefixtures("shared_kernels")

TOLD = (
    r"XML \(\w+\) took [\d.,]+ \([^()]+\) times as long to read as JSON \(\w+\)\."
    r"|Undecided which is faster to read: (JSON|XML) \(\w+\) or (JSON|XML) \(\w+\)\."
    r"|(JSON|XML) \(\w+\) and (JSON|XML) \(\w+\) are alike to read"
)
"""What is said of reading; on a busy machine few blocks may not tell the two apart."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a file of records; what is measured of it is kept for all tests."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHBOOK_RESULTS", str(folder / "results"))
        patch.setenv("BENCHBOOK_FIGURES", str(folder / "figures"))
        yield write_export(folder)


def test_json_or_xml_is_answered_in_a_terminal_with_a_description_of_the_file(
    measured: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["ask", str(measured)]) == DONE
    said, progress = capsys.readouterr()
    assert "UTF-8 with a byte order mark, delimiter semicolon, decimal comma" in said
    assert re.search(r"Betrag +float +– +–\n.*Menge +integer +\d+ %", said, re.DOTALL)
    assert "Leer is empty in every row, and left out." in said
    assert "Measured: all 40 records, in 5 blocks (the least for an interval)." in said
    assert re.search(TOLD, said)
    assert re.search(r"XML takes [\d.]+ times the bytes of JSON: [\d.]+ KB, [\d.]+ KB\.", said)
    assert re.search(r"JSON \(orjson\) +▇+ +[\d.]+ [µm]s", said) and re.search(
        r"XML +▇{20} +[\d.]+ KB  × ", said
    )
    assert re.search(r"Measured through (orjson|lxml) [\d.]+, (orjson|lxml) [\d.]+\.", said)
    assert "5 done" in progress


def test_an_answer_says_in_the_products_words_why_a_level_was_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    file = tmp_path / "iris.csv"
    file.write_text('"Sepal.Length","Species.name"\n5.1,setosa\n')
    cli.main(["ask", str(file), "which-driver", "--blocks", "1"])
    said = capsys.readouterr().out
    assert "Not tried: pymongo and mongoengine: mongodb+mongoengine does not take" in said


def test_an_answer_has_a_bar_per_level_its_sizes_and_a_mark_for_noisy_blocks(measured: Path):
    cli.main(["ask", str(measured)])
    kept = load_latest_inquiry()
    assert kept and kept.asked == (AskedQuestion("json-or-xml", 40, 5),)
    (reply,) = answer_questions(["json-or-xml"], kept.request_cells())
    times, sizes = reply.answers[:3], reply.answers[3:]
    assert [finding.operation for finding in reply.answers] == [
        "to write",
        "to read",
        "to write and read back",
        "size",
        "size, gzip",
        "size, zstd",
    ]
    for finding in reply.answers:
        assert max(bar.share for bar in finding.bars) == 1 and len(finding.bars) == 2
    for size in sizes:
        assert {bar.unit for bar in size.bars} == {"B"} and size.bars[1].ratio > 1
        assert not size.noisy
    # What is packed has fewer bytes, and the formats differ by less.
    plain, *packed = sizes
    for size in packed:
        assert all(
            small.value < large.value for small, large in zip(size.bars, plain.bars, strict=True)
        )
        assert size.bars[1].ratio < plain.bars[1].ratio
    # Noisy blocks count and are marked, in the sentence's line too.
    for finding in times:
        first, *others = finding.bars
        for bar in others:
            assert bar.value / first.value == pytest.approx(bar.ratio)
            assert bar.share / first.share == pytest.approx(bar.ratio)
        most = max(bar.noisy for bar in finding.bars)
        assert finding.noisy == (f"noisy: {most} of 5 blocks" if most else "")
        assert finding.noisy in finding.line
    table = [*csv.DictReader(io.StringIO(your_documents.write_csv([reply])))]
    written = [row["value"] for row in table if row["unit"] == "B"]
    bars = itertools.chain.from_iterable(size.bars for size in sizes)
    assert written == [f"{bar.value:.6g}" for bar in bars]
    assert [row["level"] for row in table][:2] == [bar.level for bar in times[0].bars]
    # A level of imported results may be a formula to a spreadsheet.
    imported = replace(times[0], bars=[replace(bar, level="=1+1") for bar in times[0].bars])
    table = [
        *csv.DictReader(
            io.StringIO(your_documents.write_csv([replace(reply, answers=(imported,))]))
        )
    ]
    assert {row["level"] for row in table} == {"'=1+1"}


def test_noisy_answers_stay_until_a_run_that_waits_has_measured_them_again(
    tmp_path: Path,
    results_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    file = write_export(tmp_path)
    page = your_documents.locate_page(Inquiry(str(file), ()))

    def ask(*options: str) -> str:
        cli.main(["ask", str(file), *options])
        assert "to write and read back" in page.read_text(encoding="utf-8")
        return capsys.readouterr().out

    Others(*[1.5] * 5).install(monkeypatch)
    said = ask()
    assert said.count("[noisy: 5 of 5 blocks]") == 3
    assert (
        "5 of 5 cells ran while other programs were busy; a quiet machine measures better." in said
    )
    shown = page.read_text(encoding="utf-8")
    # Two bars in each of three operations.
    assert shown.count('<span class="bb-hollow"') == 6
    again = "--records 40 --blocks 5 --wait"
    assert again in shown and f"{again}: measures noisy cells again" in said

    # The machine does not become quiet, with the same records and with fewer.
    def give_up(*_: object) -> None:
        raise NotQuietError("others are busy")

    with monkeypatch.context() as patch:
        patch.setattr(LoadMonitor, "begin_cell", give_up)
        assert ask("--wait") == said
        assert "No answer: at least two must run" in ask("--wait", "--records", "10")

    # Three of five cells are still noisy, and then one.
    Others(0.0, 0.0, 0.5, 0.5, 0.5).install(monkeypatch)
    assert ask("--wait").count("[noisy: 3 of 5 blocks]") == 3
    Others(0.0, 0.0, 0.5).install(monkeypatch)
    assert ask("--again").count("[noisy: 1 of 5 blocks]") == 3
    # Five quiet blocks are enough without the noisy one.
    Others(0.0).install(monkeypatch)
    said = ask("--blocks", "6")
    assert "[noisy" not in said and '<span class="bb-hollow"' not in page.read_text(
        encoding="utf-8"
    )
    assert "1 of 6 cells ran while other programs were busy, and are left out." in said


@pytest.mark.parametrize("step", ["cli.execution.prepare_plan", "runner.batch.Batch.run"])
def test_an_interrupt_ends_with_a_page_that_says_so(
    step: str,
    tmp_path: Path,
    results_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setattr(f"benchbook.{step}", interrupt)
    file = write_export(tmp_path)
    assert cli.main(["ask", str(file), "json-or-xml", "which-driver"]) == INTERRUPTED
    page = your_documents.locate_page(Inquiry(str(file), ()))
    assert "Stopped: the same command goes on from here." in page.read_text(encoding="utf-8")
    assert "stopped" in capsys.readouterr().err.splitlines()[-1]


def test_beside_another_run_a_question_is_answered_by_what_is_done(
    tmp_path: Path,
    results_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    file = write_export(tmp_path)
    with lock_results():
        assert cli.main(["ask", str(file)]) == NOTHING_RUNS
    said, errors = capsys.readouterr()
    assert "No answer: at least two must run" in said
    assert f"writes to {results_folder}: wait for it, or stop it" in errors


@needs_browser
def test_the_page_of_a_file_has_text_and_csv_and_keeps_earlier_answers(
    measured: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["ask", str(measured)]) == DONE
    path = Path(capsys.readouterr().out.splitlines()[-1].rpartition(": ")[2])
    assert cli.main(["ask", str(measured), "which-driver", "--blocks", "6"]) == DONE
    with start_browser() as browser:
        watched = WatchedPage(browser, "file:", "data:")
        watched.page.goto(path.as_uri())
        watched.page.get_by_text("Measured. Answers below.").wait_for()
        said = watched.page.locator("main").inner_text()
        assert "all 40 records" in said and re.search(TOLD, said)
        assert said.index("Driver or object mapper?") < said.index("JSON or XML?")
        with watched.page.expect_download() as download:
            watched.page.get_by_role("link", name="Download CSV").click()
        assert "bytes" not in download.value.suggested_filename
        assert "JSON or XML?" in Path(download.value.path()).read_text(encoding="utf-8")
        watched.page.get_by_role("button", name="Copy as text").click()
        watched.page.get_by_role("button", name="Copied").wait_for()
        assert watched.complaints == []
        watched.check_layouts()
    assert your_documents.list_pages() == [
        your_documents.PageLink("export.csv", "../documents/export.csv.html")
    ]


def test_explore_prints_the_page_of_a_file_before_it_measures(
    measured: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["explore", str(measured), "--no-open"]) == DONE
    said = capsys.readouterr().out
    path = your_documents.locate_page(Inquiry(str(measured), ()))
    assert said.index(f"\n{path}\n") < said.index("JSON or XML?\n") and path.is_file()


def test_the_widgets_describe_a_file_measure_it_and_show_the_page(measured: Path):
    widgets = your_documents.YourDocuments()
    widgets._path.value = ""
    widgets._measure.click()
    assert "no file: pick one, or write its path" in widgets._status.value
    widgets._path.value = str(measured.with_name("missing.csv"))
    assert "missing.csv" in widgets._status.value and not widgets._page.value
    widgets._path.value = f"{measured}#decimal=point"
    assert "decimal point" in read_page(widgets) and "Not measured yet" in read_page(widgets)
    assert '<td data-head="type">text</td>' in read_page(widgets)
    widgets._path.value = str(measured)
    assert "decimal comma" in read_page(widgets)
    assert widgets._records.value == 40 and widgets._status.value == ""
    for box in widgets._questions.values():
        box.value = False
    widgets._measure.click()
    assert "no question" in widgets._status.value
    widgets._questions["json-or-xml"].value = True
    asyncio.run(await_answers(widgets))
    assert re.search(TOLD, read_page(widgets)) and "all 40 records" in read_page(widgets)
    assert "Answers below" in widgets._status.value and "Download CSV" in read_page(widgets)
    # The boxes are there, so the page names no options.
    assert "--" not in re.sub(r"<style>.*?</style>|<!--.*?-->", "", read_page(widgets), flags=re.S)
    # Of a store, too, whose servers end with the thread that started them.
    widgets._questions["json-or-xml"].value = False
    widgets._questions["which-driver"].value = True
    widgets._records.value, widgets._blocks.value = 10, 1
    asyncio.run(await_answers(widgets))
    assert "Driver or object mapper?" in read_page(widgets)

    # A notebook that runs again shows what was asked last.
    again = your_documents.YourDocuments()
    assert (again._path.value, again._records.value, again._blocks.value) == (str(measured), 10, 1)
    assert again._questions["which-driver"].value and not again._questions["json-or-xml"].value
    assert "Driver or object mapper?" in read_page(again)
    assert "Measured before." in read_page(again)


def test_the_widgets_show_why_nothing_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    file = write_export(tmp_path)
    widgets = your_documents.YourDocuments()
    widgets._path.value = str(file)
    file.unlink()
    asyncio.run(await_answers(widgets))
    assert "Not all was measured." in widgets._status.value
    assert f"{file.name}: there is no such file" in widgets._status.value


def read_page(widgets: your_documents.YourDocuments) -> str:
    """Return the page that the widgets show in a frame."""
    return html.unescape(widgets._page.value)


async def await_answers(widgets: your_documents.YourDocuments) -> None:
    """Click, and wait until the answers are there, as a kernel's loop does."""
    statuses: list[str] = []
    widgets._status.observe(lambda change: statuses.append(change["new"]), "value")
    widgets._measure.click()
    assert widgets._measure.disabled and not widgets._stop.disabled
    await widgets._task
    assert not widgets._measure.disabled and widgets._stop.disabled
    assert re.search(r"Measuring, \d+ s so far\.", statuses[0])


def test_a_sample_of_a_large_file_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    file = tmp_path / "sorted.jsonl"
    text = "x" * 10_000
    file.write_text("".join(f'{{"place": {place}, "text": "{text}"}}\n' for place in range(500)))
    assert cli.main(["ask", str(file), "--sample", "--records", "100", "--blocks", "1"]) == DONE
    said = capsys.readouterr().out
    assert f"Drawn by chance from {file}, into a file of its own:" in said
    assert "sorted-sample-100.jsonl: JSON Lines, UTF-8: 100 records of 2 fields" in said
    inquiry = load_latest_inquiry()
    assert inquiry
    places = [record["place"] for record in read_file(inquiry.file).records]
    assert len({*places}) == 100 and max(places) > 400
    # A text of ASCII takes a byte per character, and little more.
    assert "Once read, the records take about 1.00 MB of memory" in said


def measure_size(value: Any) -> int:
    """Return the bytes of an object and of all in it, as Python says them of each."""
    size = sys.getsizeof(value)
    if isinstance(value, dict):
        size += sum(map(measure_size, value.values()))
    if isinstance(value, list):
        size += sum(map(measure_size, value))
    return size


def test_the_memory_of_records_is_that_of_all_their_objects(tmp_path: Path):
    file = tmp_path / "small.jsonl"
    lines = [f'{{"place": {place}, "text": "x{place}", "p": {place}.5}}' for place in range(999)]
    file.write_text("\n".join(lines))
    (request,) = request_cells(file, ["json-or-xml"], 999)
    objects = [json.loads(line) for line in lines]
    assert measure_memory(request) == pytest.approx(measure_size(objects), rel=0.05)
