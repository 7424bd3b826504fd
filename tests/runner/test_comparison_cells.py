"""Which cells each comparison of each claim is read from."""

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from benchbook import grid
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import Claim, UnmeasuredClaim, format_levels
from benchbook.grid import Cell
from benchbook.runner.undecided_claims import ComparisonCells, find_comparison_cells
from benchbook.studies.catalogue import SLUGS

OF_PLUGINS = re.compile("couchbase|sqlserver")
"""Adapters that met no server: no verdict rests on them."""


@pytest.fixture(scope="module")
def paper() -> list[Cell]:
    return grid.make_plan(profile="paper", changes=["blocks=1"]).cells


def make_runnable(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells as on a machine that has every product."""
    return [replace(cell, missing=None) for cell in cells]


def list_judged(study: str) -> list[Claim]:
    return [claim for claim in load_claims(study) if not claim.fact]


def key(comparison: ComparisonCells) -> tuple[str, str, str]:
    return comparison.claim.id, comparison.language, comparison.label


def parameters(
    comparison: ComparisonCells, cells: Iterable[Cell], *names: str
) -> list[tuple[object, ...]]:
    chosen = [
        cell.parameters.model_dump() for cell in cells if cell.combination in comparison.cells
    ]
    return sorted(tuple(values[name] for name in names) for values in chosen)


@pytest.mark.parametrize("study", SLUGS)
def test_every_comparison_finds_its_cells_in_the_papers_grid_where_all_products_are(
    study: str, paper: list[Cell]
) -> None:
    cells = make_runnable(cell for cell in paper if cell.study == study)
    found: dict[tuple[str, str], bool] = {}
    for comparison in find_comparison_cells(cells, list_judged(study)):
        name = (comparison.claim.id, comparison.label)
        found[name] = found.get(name, False) or bool(comparison.cells)
    expected = set()
    for claim in list_judged(study):
        if not isinstance(claim, UnmeasuredClaim):
            expected |= {(claim.id, format_levels(levels)) for levels in claim.list_combinations()}
    assert set(found) == expected
    nowhere = {name for name, has_cells in found.items() if not has_cells}
    through_plugins = {name for name in nowhere if OF_PLUGINS.search(" ".join(name))}
    assert nowhere - through_plugins == set()


def test_no_cell_is_read_that_cannot_run_here_and_none_for_a_fact(paper: list[Cell]) -> None:
    missing = {cell.combination for cell in paper if cell.missing}
    found = find_comparison_cells(paper)
    assert any(comparison.cells for comparison in found)
    assert not any(comparison.cells & missing for comparison in found)
    assert not any(comparison.claim.fact for comparison in found)


def test_both_sides_are_read_from_the_one_cell_that_measured_both(paper: list[Cell]) -> None:
    named = ("bookstore.round-trip.xml-slower", "java", "case=1, n=10")
    (java,) = [
        comparison
        for comparison in find_comparison_cells(make_runnable(paper), list_judged("bookstore"))
        if key(comparison) == named
    ]
    settings = ("case", "n", "process", "format", "binding", "sink")
    assert parameters(java, paper, *settings) == [(1, 10, "together", "both", "once", "file")]


def test_a_ranking_reads_the_cells_of_all_that_are_ranked_and_run_here(paper: list[Cell]) -> None:
    wanted = [
        claim for claim in load_claims() if claim.id == "crud.insert.mongodb-before-relational"
    ]
    cells = make_runnable(
        cell for cell in paper if cell.study == "crud" and "sqlserver" not in cell.product
    )
    of_size = [
        one
        for one in find_comparison_cells(cells, wanted)
        if one.label == "n=1000" and one.language == "python"
    ]
    read = frozenset().union(*(comparison.cells for comparison in of_size))
    databases = {
        cell.parameters.model_dump()["database"] for cell in cells if cell.combination in read
    }
    assert databases == {"mongodb", "mysql+relational", "postgresql+relational"}


def test_second_arms_are_read_by_no_claim(paper: list[Cell]) -> None:
    cells = make_runnable(paper)
    read = set()
    for comparison in find_comparison_cells(cells):
        read |= comparison.cells
    assert read
    assert not read & {cell.combination for cell in cells if cell.arm == "b"}


def test_decide_has_or_excludes_the_cells_of_every_comparison_that_the_papers_grid_has_here(
    paper: list[Cell],
) -> None:
    decide = grid.make_plan(profile="decide", changes=["blocks=1"]).cells
    theirs = {key(one) for one in find_comparison_cells(paper) if one.cells}
    ours = {key(one) for one in find_comparison_cells(make_runnable(decide)) if one.cells}
    assert theirs
    assert theirs - ours == set()
