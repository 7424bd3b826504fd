"""Which cells each contrast of each claim is read from."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from benchbook import evidence, grid
from benchbook.evidence.claims import Untestable, label
from benchbook.evidence.contrasts import FEW_REPETITIONS
from benchbook.grid import Cell
from benchbook.runner.standing import NO_CELL, NO_SPREAD, Reading, readings
from benchbook.studies import SLUGS


@pytest.fixture(scope="module")
def paper() -> list[Cell]:
    return grid.plan(profile="paper", changes=["blocks=1"]).cells


def as_if_here(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells as on a machine that has every product."""
    return [replace(cell, missing=None) for cell in cells]


def by_contrast(found: Iterable[Reading]) -> dict[tuple[str, str], list[Reading]]:
    every: dict[tuple[str, str], list[Reading]] = {}
    for one in found:
        every.setdefault((one.claim.id, one.contrast), []).append(one)
    return every


@pytest.mark.parametrize("study", SLUGS)
def test_every_contrast_finds_its_cells_in_the_papers_grid_where_all_products_are(
    study: str, paper: list[Cell]
) -> None:
    claims = [claim for claim in evidence.claims() if claim.study == study and not isinstance(claim, Untestable)]
    cells = [cell for cell in paper if cell.study == study]
    found, here = (by_contrast(readings(some, claims)) for some in (as_if_here(cells), cells))
    assert set(found) == {(claim.id, label(levels)) for claim in claims for levels in claim.contrasts()}
    nowhere = {
        name: {one.why for one in lanes}
        for name, lanes in found.items()
        if not any(one.cells for one in lanes)
        and not any("experimental adapter" in one.why for one in lanes)
        and all(NO_CELL in one.why for one in here[name])  # else the server that is missing owes it
    }
    assert not nowhere


def test_a_contrast_without_cells_says_why_and_one_with_cells_reads_none_that_is_missing(paper: list[Cell]) -> None:
    missing = {cell.kind: cell.missing.partition("\n")[0] for cell in paper if cell.missing}
    for one in readings(paper):
        assert bool(one.cells) != bool(one.why), one
        assert not one.cells & missing.keys()
    excluded = [replace(cell, missing="excluded: an hour a cell") for cell in paper if cell.study == "bookstore"]
    assert "excluded: an hour a cell" in {one.why for one in readings(excluded, bookstore())}
    few = [cell for cell in excluded if cell.parameters.model_dump()["n"] == 1]
    assert any(NO_CELL in one.why for one in readings(few, bookstore()))


def bookstore() -> list[evidence.Claim]:
    return [claim for claim in evidence.claims() if claim.study == "bookstore"]


def parameters(one: Reading, cells: Iterable[Cell], *names: str) -> list[tuple[object, ...]]:
    chosen = [cell.parameters.model_dump() for cell in cells if cell.kind in one.cells]
    return sorted(tuple(values[name] for name in names) for values in chosen)


def test_both_sides_of_a_contrast_are_read_from_the_one_cell_that_measured_both(paper: list[Cell]) -> None:
    (java,) = [
        one
        for one in readings(paper, bookstore())
        if one.key == ("bookstore.round-trip.xml-slower", "java", "case=1, n=10")
    ] or [None]
    if java is None or not java.cells:
        pytest.skip("no Java harness here")
    named = ("case", "n", "process", "format", "binding", "sink")
    assert parameters(java, paper, *named) == [(1, 10, "together", "both", "once", "file")]


def test_a_ranking_reads_the_cells_of_all_that_are_ranked_and_run_here(paper: list[Cell]) -> None:
    claims = [claim for claim in evidence.claims() if claim.id == "crud.insert.mongodb-before-relational"]
    cells = as_if_here(cell for cell in paper if cell.study == "crud" and "sqlserver" not in cell.product)
    (one,) = [one for one in readings(cells, claims) if one.contrast == "n=1000" and one.lane == "python"]
    named = ("engine", "topology", "n", "calls", "constraints", "durability", "comments_per_article", "article_index")
    alike = ("single", 1000, "single", "on", "default", "all", False)
    ranked = ("mongodb", "mysql+relational", "postgresql+relational")
    assert parameters(one, cells, *named) == [(engine, *alike) for engine in ranked]


def test_second_arms_are_read_by_no_claim(paper: list[Cell]) -> None:
    cells = as_if_here(paper)
    read = {kind for one in readings(cells) for kind in one.cells}
    assert read
    assert not read & {cell.kind for cell in cells if cell.arm == "b"}


def test_decide_reads_every_contrast_that_the_papers_grid_does_or_excludes_it_for_a_reason(paper: list[Cell]) -> None:
    decide = grid.plan(profile="decide", changes=["blocks=1"]).cells
    reasons = {one.why for study in SLUGS for one in grid.load(study).profiles["decide"].exclude} | {
        NO_SPREAD,
        FEW_REPETITIONS,
    }
    theirs, ours = ({one.key: one for one in readings(cells)} for cells in (paper, decide))
    wanted = {key for key, one in theirs.items() if one.cells}
    assert wanted
    silent = {key for key in wanted if not ours[key].cells and not any(why in ours[key].why for why in reasons)}
    assert not silent


def test_decide_has_no_cell_that_no_claim_reads_but_controls() -> None:
    cells = grid.plan(profile="decide", changes=["blocks=1"]).cells
    read = {kind for one in readings(cells) for kind in one.cells}
    others = {cell.kind: cell for cell in cells if cell.kind not in read and cell.arm == "a" and not cell.missing}
    assert {cell.product for cell in others.values()} == {"none"}, "the loop without a database"
    beside = [cell.parameters.model_dump() for cell in others.values() if cell.study == "tcp"]
    assert all(cell["trials"] == "alone" or cell["heap"] == "default" for cell in beside), "cold, and today's heap"
    sent = [cell.parameters.model_dump() for cell in others.values() if cell.study == "bookstore"]
    assert all(cell["room"] != "none" for cell in sent), "the scenario of the paper's introduction"
    assert {cell.study for cell in others.values()} <= {"bookstore", "crud", "tcp"}
