"""What a machine can answer: each testable claim once, and what each lever adds."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

import pandas as pd
import pytest

from benchbook import cli, grid, paths
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import Claim, MeasuredClaim, NotComparable
from benchbook.analysis.runs import ABOUT_FILE, REPETITIONS_FILE
from benchbook.cli.command import DONE, USAGE
from benchbook.grid import Cell
from benchbook.grid.cells import Combination
from benchbook.report import answerable_claims
from benchbook.report.answerable_claims import (
    PROCESSOR_EACH,
    AnswerCounter,
    AnsweredClaims,
    ClaimAnswers,
    ComparisonKey,
    Lever,
    Machine,
    NoAnswer,
    PlannedAnswer,
    find_answers,
    is_testable,
    load_durations,
    read_machine,
)
from checkout import ROOT
from tools import answerable

REFERENCE = answerable.describe_machine()
BARE = Machine(
    frozenset({("mongodb", "single", False)}),
    frozenset({"python"}),
    processors=1,
    has_namespaces=False,
    has_delay=False,
    has_containers=False,
)
EVERYTHING = replace(
    REFERENCE,
    servers=REFERENCE.servers | {("couchdb", "replicated", False), ("rethinkdb", "single", True)},
    processors=64,
    has_containers=True,
)


def rows(answers: ClaimAnswers) -> list[AnsweredClaims]:
    return [answers.now, *answers.added]


def plan(study: str, **levels: object) -> Cell:
    """Return the first cell of the papers' grid with some levels."""
    for cell in grid.make_plan([study], "paper", everywhere=True, changes=["blocks=1"]).cells:
        values = cell.parameters.model_dump()
        if all(values[name] == level for name, level in levels.items()):
            return cell
    raise LookupError(levels)


@pytest.fixture(scope="module")
def durations() -> Mapping[Combination, float]:
    return load_durations()


@pytest.fixture(autouse=True, scope="module")
def comparisons_found_once() -> Iterator[None]:
    """Let all tests have the comparisons of a profile and a machine found once."""
    find_comparisons = answerable_claims._find_comparisons
    found: dict[object, Any] = {}

    def find_once(profile: str, machine: Machine, testable: Sequence[Claim]) -> Any:
        key = profile, machine, tuple(claim.id for claim in testable)
        if key not in found:
            found[key] = find_comparisons(profile, machine, testable)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answerable_claims, "_find_comparisons", find_once)
        yield


@cache
def find_untimed_answers(profile: str, machine: Machine) -> ClaimAnswers:
    """Return the answers without minutes; several tests ask for those of one machine."""
    return find_answers(profile, machine, {})


@pytest.mark.parametrize("profile", ["decide", "quick"])
@pytest.mark.parametrize("machine", [BARE, REFERENCE, EVERYTHING])
def test_each_testable_claim_is_counted_once(profile: str, machine: Machine) -> None:
    answers = find_untimed_answers(profile, machine)
    counted: list[str] = []
    for row in rows(answers):
        counted += row.claims
    for claims in answers.never.values():
        counted += claims
    assert sorted(counted) == sorted(claim.id for claim in load_claims() if is_testable(claim))
    assert len(counted) == answers.testable
    assert len(load_claims()) == answers.testable + answers.facts + answers.untestable
    assert sum(row.comparisons for row in rows(answers)) <= answers.comparisons


def test_without_node_no_claim_of_drivers_is_answered_in_its_language_and_node_is_a_lever() -> None:
    machine = replace(REFERENCE, languages=frozenset({"python", "java"}))
    answers = find_answers("decide", machine, {})
    of_drivers = [name for name in answers.now.in_paper_language if name.startswith("drivers.")]
    assert of_drivers == []
    (row,) = [row for row in answers.added if row.levers == (Lever("language", "node"),)]
    assert row.title == "Node.js"
    with_node = find_untimed_answers("decide", REFERENCE).now.in_paper_language
    wanted = {name for name in with_node if name.startswith("drivers.")}
    assert wanted and wanted <= {*row.in_paper_language}


def test_more_processors_answer_more(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = find_untimed_answers("decide", REFERENCE)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)}, raising=False)
    processors = read_machine().processors
    assert processors == 8

    def count_without_more(answers: ClaimAnswers) -> int:
        return sum(row.comparisons for row in rows(answers) if more not in row.levers)

    # Client, primary and replica need three.
    more = Lever("processors", processors=3)
    answers = find_answers("decide", replace(REFERENCE, processors=processors), {})
    assert count_without_more(answers) > count_without_more(reference)
    assert [row.comparisons for row in reference.added if more in row.levers] != []
    assert [row for row in answers.added if more in row.levers] == []


def test_a_cell_needs_what_is_missing_for_it_by_its_parameters() -> None:
    crud = plan("crud", database="couchdb", topology="replicated")
    assert REFERENCE.list_needs(crud) == {Lever("product", "couchdb")}
    java = plan("tcp", language="java", network="lan-100m")
    assert BARE.list_needs(java) == {Lever("language", "java"), Lever("namespaces")}
    alone = replace(java, parameters=java.parameters.model_copy(update={"network": "wan/1core"}))
    needs = {Lever("language", "java"), Lever("namespaces"), Lever("delay")}
    assert BARE.list_needs(alone) == needs | {Lever("processors", processors=2)}
    assert REFERENCE.list_needs(alone) == {Lever("delay")}
    turns = plan("crud", database="mongodb/mysql+relational", topology="single")
    assert BARE.list_needs(turns) == {Lever("product", "mysql")}


def count(*answers: tuple[str, set[Lever]]) -> AnswerCounter:
    """Return a counter of comparisons, one per claim, each with what it needs."""
    found: dict[ComparisonKey, list[PlannedAnswer | NoAnswer]] = {}
    for number, (claim, needs) in enumerate(answers):
        cells = frozenset({("crud", str(number))})
        key: ComparisonKey = (claim, "python", f"n={number}", ())
        found[key] = [PlannedAnswer(cells, frozenset(needs))]
    return AnswerCounter(found, {("crud", "0"): 60.0, ("crud", "1"): 90.0})


def test_the_lever_that_adds_most_comes_first_then_those_that_add_only_together() -> None:
    node, spaces = Lever("language", "node"), Lever("namespaces")
    three, couchdb = Lever("processors", processors=3), Lever("product", "couchdb")
    counter = count(
        ("crud.a", set()),
        ("crud.b", {couchdb}),
        ("crud.c", {node}),
        ("crud.d", {node}),
        ("crud.e", {three, spaces}),
    )
    assert counter.add(()).claims == ("crud.a",)
    chosen = []
    levers = counter.choose_levers(REFERENCE)
    while levers:
        chosen.append((levers, counter.add(levers).claims))
        levers = counter.choose_levers(REFERENCE)
    assert chosen == [
        ((node,), ("crud.c", "crud.d")),
        ((couchdb,), ("crud.b",)),
        ((spaces, three), ("crud.e",)),
    ]


def test_a_container_engine_brings_every_product_that_has_an_image() -> None:
    answers = (
        ("crud.a", {Lever("product", "couchdb")}),
        ("crud.b", {Lever("product", "rethinkdb")}),
    )
    assert count(*answers).choose_levers(REFERENCE) == (Lever("containers"),)
    with_engine = replace(REFERENCE, has_containers=True)
    assert count(*answers).choose_levers(with_engine) == (Lever("product", "couchdb"),)


def test_minutes_are_of_the_cells_that_are_added_and_untimed_ones_are_counted() -> None:
    counter = count(("crud.a", set()), ("crud.b", set()), ("crud.c", set()))
    row = counter.add(())
    assert (row.minutes, row.untimed_cells) == (2.5, 1)
    assert row.describe_minutes() == "2 (1 cell never timed)"
    assert counter.add(()).minutes == 0


def test_durations_are_the_medians_over_the_reference_runs_blocks(
    durations: Mapping[Combination, float],
) -> None:
    cell = plan("crud", database="mongodb", topology="single", n=100_000)
    (name,) = [
        combination
        for combination in durations
        if combination[0] == "crud"
        and json.loads(combination[1])["database"] == "mongodb"
        and json.loads(combination[1])["topology"] == cell.topology
        and json.loads(combination[1])["n"] == 100_000
        and json.loads(combination[1])["language"] == "python"
        and json.loads(combination[1]).get("load") != "bulk"
    ]
    columns = ["load", "cell_id", "block", "cell_started_at", "cell_ended_at"]
    chosen = [("study", "==", "crud"), ("cell_database", "==", "mongodb"), ("n", "==", 100_000)]
    chosen += [("topology", "==", "single"), ("language", "==", "python")]
    run = pd.read_parquet(paths.reference() / REPETITIONS_FILE, columns=columns, filters=chosen)
    blocks = run[run["load"] != "bulk"].drop_duplicates(["cell_id", "block"])
    seconds = (blocks["cell_ended_at"] - blocks["cell_started_at"]).dt.total_seconds()
    assert durations[name] == pytest.approx(seconds.median())


def test_a_reason_by_own_processors_is_answered_by_a_network_with_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (claim,) = [one for one in load_claims() if one.id == "tcp.scenario-2.xml-more-system-cpu"]
    assert isinstance(claim, MeasuredClaim)
    reason = NotComparable(
        claims=(claim.id,), at={"own_processors": 0}, why="shared", remedy="own processors"
    )
    shared: tuple[Claim, ...] = (claim.model_copy(update={"not_comparable": (reason,)}),)
    monkeypatch.setattr(answerable_claims, "load_claims", lambda: shared)
    answers = find_answers("quick", REFERENCE, {})
    assert answers.now.claims == ()
    assert [(row.levers, row.claims) for row in answers.added] == [((PROCESSOR_EACH,), (claim.id,))]
    alone = find_answers("quick", replace(REFERENCE, processors=1), {})
    levers = (PROCESSOR_EACH, Lever("processors", processors=2))
    assert [row.levers for row in alone.added] == [levers]


def test_doctor_prints_the_levers_with_what_to_type(
    durations: Mapping[Combination, float],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answerable_claims, "load_durations", lambda: durations)
    machine = replace(REFERENCE, languages=frozenset({"python"}))
    monkeypatch.setattr(answerable_claims, "read_machine", lambda: machine)
    assert cli.main(["doctor", "--claims", "--json"]) == DONE
    printed = json.loads(capfd.readouterr().out)
    claims = list(chain.from_iterable(row["claims"] for row in printed))
    assert len(claims) == len({*claims}) == sum(map(is_testable, load_claims()))
    (row,) = [row for row in printed if row["levers"] == ["a container engine"]]
    assert row["to_add"].endswith("benchbook servers pull rethinkdb")
    assert cli.main(["doctor", "--claims"]) == DONE
    text = capfd.readouterr().out
    assert text.startswith(f"This machine can answer {len(printed[0]['claims'])} of ")
    assert "benchbook run tcp --profile decide --set network=1core" in text
    assert "\nno answer " in text and answerable_claims.RULE in text
    assert cli.main(["doctor", "--claims", "decid"]) == USAGE
    assert "did you mean 'decide'?" in capfd.readouterr().err


def test_the_readme_says_what_the_reference_machine_can_answer(
    durations: Mapping[Combination, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answerable, "load_durations", lambda: durations)
    page = (ROOT / "README.md").read_text()
    assert answerable.rewrite_page(page) == page, "python -m tools.answerable README.md"
    about = json.loads((paths.reference() / ABOUT_FILE).read_text())
    assert float(about["cores"]) == answerable.PROCESSORS
