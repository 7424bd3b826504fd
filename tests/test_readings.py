"""Which cells each comparison of each claim is read from."""

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from benchbook import grid
from benchbook.analysis.claim_files import claims
from benchbook.analysis.claims import Claim, Unmeasured, label
from benchbook.grid import Cell
from benchbook.runner.undecided import Reading, readings
from benchbook.studies import SLUGS

EXPERIMENTAL = re.compile("couchbase|sqlserver")
"""Adapters that met no server: no verdict rests on them."""


@pytest.fixture(scope="module")
def paper() -> list[Cell]:
    return grid.plan(profile="paper", changes=["blocks=1"]).cells


def as_if_here(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells as on a machine that has every product."""
    return [replace(cell, missing=None) for cell in cells]


def judged(study: str) -> list[Claim]:
    return [claim for claim in claims(study) if not claim.fact]


def key(reading: Reading) -> tuple[str, str, str]:
    return reading.claim.id, reading.language, reading.label


def parameters(reading: Reading, cells: Iterable[Cell], *names: str) -> list[tuple[object, ...]]:
    chosen = [cell.parameters.model_dump() for cell in cells if cell.kind in reading.cells]
    return sorted(tuple(values[name] for name in names) for values in chosen)


@pytest.mark.parametrize("study", SLUGS)
def test_every_comparison_finds_its_cells_in_the_papers_grid_where_all_products_are(
    study: str, paper: list[Cell]
) -> None:
    cells = as_if_here(cell for cell in paper if cell.study == study)
    found: dict[tuple[str, str], bool] = {}
    for reading in readings(cells, judged(study)):
        name = (reading.claim.id, reading.label)
        found[name] = found.get(name, False) or bool(reading.cells)
    assert set(found) == {
        (claim.id, label(levels))
        for claim in judged(study)
        if not isinstance(claim, Unmeasured)
        for levels in claim.combinations()
    }
    nowhere = {name for name, has_cells in found.items() if not has_cells}
    through_experimental = {name for name in nowhere if EXPERIMENTAL.search(" ".join(name))}
    assert nowhere - through_experimental == set()


def test_no_cell_is_read_that_cannot_run_here_and_none_for_a_fact(paper: list[Cell]) -> None:
    missing = {cell.kind for cell in paper if cell.missing}
    found = readings(paper)
    assert any(reading.cells for reading in found)
    assert not any(reading.cells & missing for reading in found)
    assert not any(reading.claim.fact for reading in found)


def test_both_sides_are_read_from_the_one_cell_that_measured_both(paper: list[Cell]) -> None:
    named = ("bookstore.round-trip.xml-slower", "java", "case=1, n=10")
    (java,) = [reading for reading in readings(as_if_here(paper), judged("bookstore")) if key(reading) == named]
    settings = ("case", "n", "process", "format", "binding", "sink")
    assert parameters(java, paper, *settings) == [(1, 10, "together", "both", "once", "file")]


def test_a_ranking_reads_the_cells_of_all_that_are_ranked_and_run_here(paper: list[Cell]) -> None:
    wanted = [claim for claim in claims() if claim.id == "crud.insert.mongodb-before-relational"]
    cells = as_if_here(cell for cell in paper if cell.study == "crud" and "sqlserver" not in cell.product)
    of_size = [one for one in readings(cells, wanted) if one.label == "n=1000" and one.language == "python"]
    read = frozenset().union(*(reading.cells for reading in of_size))
    databases = {cell.parameters.model_dump()["database"] for cell in cells if cell.kind in read}
    assert databases == {"mongodb", "mysql+relational", "postgresql+relational"}


def test_second_arms_are_read_by_no_claim(paper: list[Cell]) -> None:
    cells = as_if_here(paper)
    read = {kind for reading in readings(cells) for kind in reading.cells}
    assert read
    assert not read & {cell.kind for cell in cells if cell.arm == "b"}


def test_decide_has_or_excludes_the_cells_of_every_comparison_that_the_papers_grid_has_here(paper: list[Cell]) -> None:
    decide = grid.plan(profile="decide", changes=["blocks=1"]).cells
    theirs = {key(one) for one in readings(paper) if one.cells}
    ours = {key(one) for one in readings(as_if_here(decide)) if one.cells}
    assert theirs
    assert theirs - ours == set()
