"""The explorer: what it answers is what the suite's own tables say, and its page works in a real browser."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

from benchbook import registry
from benchbook.evidence import Evidence, judged
from benchbook.evidence.claim_files import claims
from benchbook.evidence.effects import Effect
from benchbook.evidence.sides import shared
from benchbook.explorer import contrasts, documents, drawing, markup, own_claims, running
from benchbook.explorer.page import Page
from benchbook.explorer.sources import HERE, REFERENCE, Source
from benchbook.inputs import InputError
from browsers import Watched, needs_browser, started
from own_files import export
from waiting import comes_true

ROOT = Path(__file__).parents[1]


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
    assert found.row.low < float(np.exp(np.log(found.points["ratio"]).mean())) < found.row.high


@pytest.mark.parametrize("measure", [("client", "wall_time"), ("client", "cpu_time")])
def test_every_repetition_behind_a_block_is_found(source: Source, measure: tuple[str, str]):
    one = asked(source, "drivers", "mapper against driver", operation="insert", measure=measure)
    found = contrasts.answer(one.pair)
    for name, side in one.pair.sides.items():
        means = (
            source.repetitions(side, one.quantity).groupby("block")["value"].apply(lambda x: np.exp(np.log(x).mean()))
        )
        assert means.loc[found.points["block"]].to_numpy() == pytest.approx(found.points[name].to_numpy(), rel=0.2)
        assert len(means) >= len(found.points)


def test_the_headline_counts_the_blocks_that_its_ratio_is_of(source: Source):
    pair = asked(source, "bookstore", "XML against JSON").pair
    blocks = len(shared(pair.sides.values()))
    disturbed = np.arange(len(pair.sides["a"].blocks)) == 0
    noisy = replace(pair, sides={**pair.sides, "a": replace(pair.sides["a"], disturbed=disturbed)})
    for asked_of, count in ((pair, blocks), (noisy, blocks - 1)):
        answer = contrasts.answer(asked_of)
        assert answer.row.blocks == count
        assert markup.headline(answer).between.endswith(f"over {count} blocks")


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


@pytest.mark.parametrize(
    ("study", "comparison", "apart"),
    [
        ("crud", "engine against engine", ["engine"]),
        ("bookstore", "by n", ["n"]),
        ("replication", "by process", ["process", "model"]),
    ],
)
def test_what_is_measured_of_a_contrast_is_both_its_sides(
    source: Source, study: str, comparison: str, apart: list[str]
):
    one = asked(source, study, comparison)
    rows = source.means.drop_duplicates("cell_id").set_index("cell_id")["parameters"]
    given = [json.loads(rows[side.cells[-1]]) for side in one.pair.sides.values()]
    chosen = {control.name: control.values for control in running.controls(study, *given)}
    cells = [cell for request in running.requests(study, chosen, 1) for cell in request.cells()]
    measured = {tuple(getattr(cell.parameters, name) for name in apart) for cell in cells}
    assert measured == {tuple(side[name] for name in apart) for side in given}
    assert len(measured) == 2


def test_of_what_was_measured_here_only_what_can_be_compared_is_offered(source: Source):
    one_engine = source.means[(source.means["study"] == "crud") & (source.means["cell_id"] == source.means.loc[
        source.means["study"] == "crud", "cell_id"].iloc[0])]  # fmt: skip
    page = Page({REFERENCE: source, HERE: Source(HERE, one_engine, {})})
    (offered,) = [control.options for box in page.look.children for control in getattr(box, "children", ())
                  if getattr(control, "description", "") == "Numbers of"]  # fmt: skip
    assert [name for name, _ in offered] == [REFERENCE]


def test_the_first_block_is_block_1_wherever_it_stands(source: Source):
    one = asked(source, "bookstore", "XML against JSON")
    found = contrasts.answer(one.pair)
    assert found.points["block"].min() == 0
    drawn = drawing.draw(
        one, found, {name: source.repetitions(side, one.quantity) for name, side in one.pair.sides.items()}
    )
    assert drawn.frame["block"].min() == 1
    said = markup.provenance("XML", source.provenance(str(found.points["cell_a"].iloc[0]), 0))
    assert "<dt>block</dt><dd>1</dd>" in said


def test_a_paper_s_claim_made_once_more_has_the_same_verdict(source: Source):
    one = asked(source, "bookstore", "XML against JSON", operation="round_trip", case=2, n=1000, lane="python")
    bearing = own_claims.bearing(source, one).set_index("id")
    theirs = next(claim for claim in claims("bookstore") if claim.id == "bookstore.round-trip.xml-slower")
    rows = judged(source.means[source.means["study"] == "bookstore"], [theirs])
    at = (rows["contrast"] == "case=2, n=1000") & (rows["lane"] == "python") & (rows["host"] == one.pair.host)
    (same,) = rows[at].to_dict("records")
    assert bearing.loc[theirs.id, "verdict"] == same["verdict"]
    own = own_claims.claim(one, "more", 1.1, "a codec's next version moves it by as much")
    host = one.pair.host
    assert own_claims.judge(source, own, host)["verdict"] == "reproduced"
    assert own_claims.judge(source, own_claims.claim(one, "less", 1.1, "as above"), host)["verdict"] == "contradicted"
    assert own_claims.judge(source, own, host, datetime.now(UTC))["verdict"] == "not testable here"


def test_a_registered_claim_is_read_back(source: Source, results_folder: Path):
    one = asked(source, "tcp", "XML against JSON")
    own = own_claims.claim(one, "equal", 1.25, "we would switch beyond a quarter")
    entry = own_claims.register(own, contrasts.answer(one.pair), source)
    (kept,) = own_claims.registered()
    assert kept == entry
    assert kept.claim == own
    assert kept.seen == len(contrasts.answer(one.pair).points)


@pytest.mark.parametrize("margin", [1.0, 0.9, -1.0, float("nan"), 11.0])
def test_a_margin_that_is_none_is_refused_in_words(source: Source, margin: float):
    with pytest.raises(InputError, match="a ratio above 1"):
        own_claims.claim(asked(source, "tcp", "XML against JSON"), "more", margin, "we would switch")


def test_a_claim_names_the_levels_at_which_it_holds(source: Source):
    one = asked(source, "bookstore", "XML against JSON", case=2, n=100, lane="python")
    own = own_claims.claim(one, "more", 1.1, "we would switch")
    said = own_claims.levels(own)
    assert said.startswith("n 100; ")
    assert {"case 2", "keys paper", "implementation Python"} <= set(said.split("; "))
    entry = own_claims.Entry(claim=own, source="", registered="2026-11-24T10:00:00Z", seen=3)
    assert said in markup.own({}, [entry])


def test_a_removed_claim_is_kept_with_its_date_and_does_not_come_back_as_new(source: Source, results_folder: Path):
    one = asked(source, "tcp", "XML against JSON")
    other = asked(source, "tcp", "XML against JSON", a=one.b, b=one.a)
    elsewhere = asked(source, "tcp", "XML against JSON", n=100000)
    found = contrasts.answer(one.pair)
    first = own_claims.register(own_claims.claim(one, "more", 1.5, "we would switch", 1), found, source)
    own_claims.remove(first.claim.id)
    (kept,) = own_claims.registered()
    assert kept.registered == first.registered <= kept.removed
    assert own_claims.standing([kept]) == []
    again = own_claims.register(own_claims.claim(other, "less", 1.1, "we would switch", 2), found, source)
    third = own_claims.register(own_claims.claim(elsewhere, "more", 1.1, "we would switch", 3), found, source)
    entries = own_claims.registered()
    assert own_claims.earlier(again, entries) == [kept]
    assert own_claims.earlier(third, entries) == []
    said = markup.own({}, entries)
    assert said.count("not new: registered") == 1
    assert "Removed: 1" in said


ENTRY = {"claim": {}, "source": "here", "registered": "2026-11-24T10:00:00Z", "seen": 1}


def test_no_two_engines_to_choose_from_are_called_the_same():
    called = [contrasts.called_level("engine", engine) for engine in registry.ENGINES]
    assert len({*called}) == len(called) and {"MongoDB", "MongoDB, mongoengine", "MySQL (tables)"} < {*called}


@pytest.mark.parametrize("damage", [b"", b"[{", b"\xff\xfe", b"null", b"{}", b"[1]", b"[" * 100_000,
                                    json.dumps([ENTRY]).encode(), b'[{"claim": 1}]'])  # fmt: skip
def test_a_damaged_file_of_claims_is_set_aside_with_a_line(damage: bytes, source: Source, results_folder: Path):
    results_folder.mkdir()
    file = results_folder / own_claims.FILE
    asked_for = asked(source, "tcp", "XML against JSON")
    own = own_claims.claim(asked_for, "equal", 1.25, "we would switch beyond a quarter")
    for number in (1, 2):
        file.write_bytes(damage)
        assert own_claims.registered() == []
        assert not file.exists()
        assert (results_folder / f"own_claims.json.damaged.{number}").read_bytes() == damage
    said = markup.own({}, own_claims.registered())
    assert "own_claims.json.damaged.2" in said
    assert "set aside" in said
    entry = own_claims.register(own, contrasts.answer(asked_for.pair), source)
    assert own_claims.registered() == [entry]
    file.write_bytes(file.read_bytes().replace(b'Z"', b'"'))  # a moment without its time zone
    assert own_claims.registered() == []


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Serve the explorer by its command and open it; the command must end on Ctrl-C and leave nothing behind."""
    folder = tmp_path_factory.mktemp("explorer")
    (folder / "tmp").mkdir()
    environment = os.environ | {"BENCHBOOK_RESULTS": str(folder / "results"), "TMPDIR": str(folder / "tmp")}
    command = [sys.executable, "-m", "benchbook.cli", "explore", "--no-browser"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        try:
            with started() as browser:
                watched = Watched(browser, re.match(r"http://127\.0\.0\.1:\d+/", address)[0], "data:", "blob:", "ws:")
                watched.page.set_default_timeout(60_000)
                watched.page.goto(address)
                watched.page.wait_for_selector(".bb-figure svg")
                yield watched
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == 0
    assert not list((folder / "tmp").iterdir())


def choose(page: Any, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).select_option(label=option)


@needs_browser
def test_widgets_change_the_answer_and_its_figure(page: Any):
    answer, figure = page.page.locator(".bb-answer"), page.page.locator(".bb-figure [role=img]")
    before, drawn = answer.inner_text(), figure.get_attribute("aria-label")
    assert re.search(r"[\d.]+ ×\s+95 % interval [\d.]+ to [\d.]+", before)
    choose(page.page, "Study", "drivers")
    page.page.wait_for_function("was => document.querySelector('.bb-answer').innerText != was", arg=before)
    page.page.wait_for_function("was => document.querySelector('.bb-figure [role=img]').ariaLabel != was", arg=drawn)
    assert "Mongoengine" in answer.inner_text()
    page.page.get_by_text("drivers.insert.time.mapper-more").first.wait_for()
    page.page.get_by_role("button", name="Make files of this figure").click()
    links = page.page.locator(".bb-links a")
    links.first.wait_for()
    assert [link.get_attribute("download").rpartition(".")[2] for link in links.all()] == ["svg", "pdf", "csv", "json"]


@needs_browser
def test_headline_and_claims_change_together_or_say_that_they_wait(page: Any):
    choose(page.page, "Study", "drivers")
    page.page.get_by_text("drivers.insert.time.mapper-more").first.wait_for()
    page.page.evaluate("""() => {
        window.seen = [];
        const text = selector => document.querySelector(selector)?.innerText ?? '';
        window.observer = new MutationObserver(() => window.seen.push({
            waits: document.querySelector('.bb-waiting') !== null,
            headline: text('.bb-answer'), claims: text('[aria-label*="claims about it"]'),
        }));
        window.observer.observe(document.body, {subtree: true, childList: true, attributes: true});
    }""")
    choose(page.page, "Study", "bookstore")
    page.page.get_by_text("bookstore.round-trip.xml-slower").first.wait_for()
    page.page.wait_for_function("() => document.querySelector('.bb-waiting') === null")
    seen = page.page.evaluate("() => { window.observer.disconnect(); return window.seen; }")
    shown = {("XML" in one["headline"], "bookstore." in one["claims"]) for one in seen if not one["waits"]}
    assert (True, True) in shown
    assert shown <= {(True, True), (False, False)}
    assert any(one["waits"] for one in seen)


@needs_browser
def test_what_is_measured_follows_the_study_and_takes_both_sides(page: Any):
    choose(page.page, "Study", "crud")
    command = page.page.locator(".bb-terminal code", has_text="benchbook run crud")
    command.wait_for()
    assert "codec" not in command.inner_text()
    assert "engine=mysql+relational,postgresql+relational" in command.inner_text()
    choose(page.page, "This", "MongoDB")
    page.page.wait_for_function("() => document.querySelector('.bb-answer').innerText.includes('MongoDB')")
    page.page.get_by_role("button", name="Take the contrast above").click()
    page.page.locator("code", has_text="engine=mongodb,").wait_for()


@needs_browser
def test_a_contrast_of_one_s_own_is_registered_and_judged(page: Any):
    choose(page.page, "Study", "drivers")
    page.page.get_by_text("drivers.insert.time.mapper-more").first.wait_for()
    register = page.page.get_by_role("button", name="Register and judge")
    register.click()
    page.page.get_by_role("alert").get_by_text("Say why the margin is what it is").wait_for()
    page.page.get_by_label("Why so much", exact=True).fill("we would not change the library for less")
    page.page.get_by_label("Margin", exact=True).fill("1")
    page.page.keyboard.press("Tab")
    register.click()
    page.page.get_by_role("alert").get_by_text("a ratio above 1").wait_for()
    page.page.get_by_label("Margin", exact=True).fill("1.1")
    page.page.keyboard.press("Tab")
    register.click()
    table = page.page.get_by_role("region", name="Claims of your own")
    table.wait_for()
    assert "reproduced" in table.inner_text()
    assert "blocks were known" in table.inner_text()
    assert "at n 1,000; attributes 89" in table.inner_text()


@needs_browser
def test_a_claim_of_one_s_own_can_be_removed_and_comes_back_with_its_history(page: Any):
    table = page.page.get_by_role("region", name="Claims of your own")
    page.page.get_by_role("button", name="Remove this claim").click()
    table.wait_for(state="detached")
    page.page.get_by_role("button", name="Register and judge").click()
    table.wait_for()
    assert "not new: registered" in table.inner_text()
    page.page.get_by_text("Removed: 1").wait_for()


@needs_browser
def test_a_cell_and_one_s_own_records_are_measured_from_the_page(page: Any, tmp_path: Path):
    choose(page.page, "Study", "bookstore")
    page.page.get_by_role("button", name="Take the contrast above").click()
    page.page.locator("code", has_text="benchbook run bookstore").wait_for()
    page.page.get_by_label("blocks", exact=True).first.fill("1")
    page.page.get_by_label("n", exact=True).last.fill("10")
    page.page.get_by_label("n", exact=True).last.press("Tab")
    page.page.locator("code", has_text="n=10 ").wait_for()
    for one in page.page.get_by_label("do not wait for a quiet machine").all():
        one.check()
    page.page.locator("code", has_text="--noisy").wait_for()
    page.page.get_by_role("button", name="Measure", exact=True).click()
    page.page.get_by_text("1 of 1 cells").wait_for()
    page.page.wait_for_function(
        "() => document.querySelector('.bb-ratio').innerText.includes('no interval, of 1 block')"
    )
    file = export(tmp_path)
    page.page.get_by_label("or its path").fill(str(tmp_path / "missing.csv"))
    for question in ("Which store?", "Driver or object mapper?", "What does a replica cost?"):
        page.page.get_by_label(question).uncheck()
    page.page.get_by_role("button", name="Measure and answer").click()
    page.page.get_by_role("alert").get_by_text("missing.csv").wait_for()
    page.page.get_by_label("or its path").fill(str(file))
    page.page.get_by_label("or its path").press("Tab")
    known = page.page.locator(".bb-understood")
    known.get_by_text("UTF-8 with a byte order mark, Windows line ends, delimiter semicolon, decimal comma").wait_for()
    assert "Leer is empty in every row, and left out." in known.inner_text()
    assert re.search(r"Betrag\s+float\s+–\s+–\s+Menge\s+integer\s+\d+ %", known.inner_text())
    page.page.get_by_label("Decimal mark").select_option("point .")
    known.get_by_text("decimal point").wait_for()
    assert re.search(r"Betrag\s+text", known.inner_text())
    page.page.get_by_label("Decimal mark").select_option("as it looks")
    known.get_by_text("decimal comma").wait_for()
    assert page.page.get_by_label("records", exact=True).input_value() == "40"
    page.page.get_by_role("button", name="Measure and answer").click()
    told = page.page.locator(".bb-told")
    told.wait_for()
    # On a busy machine so few blocks cannot tell the two apart, and the answer says so.
    slower = r"XML \(\w+\) took [\d.]+ \([^()]+\) times as long to read as JSON \(\w+\)"
    open_yet = r"(JSON|XML) \(\w+\) and (JSON|XML) \(\w+\) cannot be told apart to read in 3 blocks: "
    assert re.search(f"{slower}|{open_yet}", told.inner_text())
    assert "Time of 40 records" in told.inner_text() and "handled as one document, in a file." in told.inner_text()
    page.page.get_by_role("checkbox", name="JSON or XML?").uncheck()
    page.page.get_by_role("button", name="Measure and answer").click()
    page.page.get_by_text("no question: tick what you want to know").wait_for()
    assert re.search(r"Measured through (orjson|lxml) [\d.]+, (orjson|lxml) [\d.]+\.", told.inner_text())


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


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_reads_well_in_the_dark_and_on_a_phone_and_asks_nothing_of_others(page: Any, width: int):
    page.page.set_viewport_size({"width": width, "height": 800})
    page.page.reload()  # what the tests before left on the page is still moving where the machine is busy
    page.page.wait_for_selector(".bb-figure svg")
    page.page.get_by_text("Where each block comes from").click()
    for scheme in ("dark", "light"):
        page.page.emulate_media(color_scheme=scheme)
        dark = scheme == "dark"
        page.page.wait_for_function(f"dark => (({COLOURS})()[0] < 0.2) === dark", arg=dark)
        assert (page.page.evaluate(COLOURS)[1] > 0.5) is dark
        comes_true(lambda: page.faults() == [], within_s=10)  # colours change over a moment
        assert page.faults() == []
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.page.evaluate(CUT) == []
    assert page.complaints == []


COLOURS = """() => {
    const colour = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const light = (element, property) => {
        colour.fillStyle = getComputedStyle(element)[property];
        colour.fillRect(0, 0, 1, 1);
        const [red, green, blue] = colour.getImageData(0, 0, 1, 1).data;
        return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
    };
    const figure = document.querySelector('.bb-figure svg');
    const ink = [...figure.querySelectorAll('g')].find(one => one.getAttribute('style')?.includes('--ink'));
    return [light(document.body, 'backgroundColor'), light(ink, 'fill')];
}"""
"""How light the page and a figure's letters are, from 0 to 1."""

CUT = """() => [...document.querySelectorAll('body *')].filter(one => {
    const of = getComputedStyle(one);
    return one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 2 && of.overflowX != 'visible'
        && !one.matches('.bb-scroll, input, select');
}).map(one => one.outerHTML.slice(0, 200))"""
"""What is wider than its place: a button or a label cut off, or a part that scrolls sideways and is no figure."""
