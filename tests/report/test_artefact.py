"""An artefact has each claim with the command that tests it, and its metadata can be read."""

import json
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate

from benchbook import cli, paths
from benchbook.analysis.runs import Analysis, Run
from benchbook.cli.command import USAGE
from benchbook.grid.expansion import choose_cells
from benchbook.report import artefact, crate
from benchbook.report.build import PAGE
from benchbook.report.experiments import (
    Experiment,
    choose_conditions,
    count_minutes,
    list_experiments,
)

SECTIONS = (
    "Abstract",
    "Licence",
    "Hardware dependencies",
    "Software dependencies",
    "Benchmarks",
    "Security, privacy and ethical concerns",
    "Installation",
    "Basic test",
    "Major claims",
    "Experiments",
    "How to check",
    "Limitations",
    "Notes on reusability",
    "Version",
)
"""Those of which most stand in the appendices of USENIX and ACM."""


list_experiments_once = cache(list_experiments)


@pytest.fixture(scope="module")
def experiments(reference_run: Run) -> list[Experiment]:
    """Return the experiments of the reference run."""
    return list_experiments_once(reference_run, "decide")


@pytest.fixture(scope="module")
def folder(reference_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the reference run's artefact."""
    folder = tmp_path_factory.mktemp("artefact")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "read_reference", lambda: reference_run)
        patch.setattr(artefact, "list_experiments", list_experiments_once)
        artefact.write_artefact(paths.REFERENCE, paths.reference() / PAGE, folder)
    return folder


def test_each_command_measures_the_cells_of_its_experiment(
    experiments: list[Experiment], committed: Analysis
) -> None:
    for one in experiments:
        chosen = choose_cells([one.study], "decide", list(one.where), ["blocks=5"])
        assert {cell.parameters.as_json() for cell in chosen} == one.durations.keys()
    assert [one.number for one in experiments] == [*range(1, len(experiments) + 1)]
    tested = [claim.id for claim in chain.from_iterable(one.claims for one in experiments)]
    ran = {claim.id for claim in committed.verdicts if claim.verdict != "not run"}
    assert len(tested) == len({*tested}) and {*tested} == ran
    # Most of their cells ran, so the minutes say how long a rerun takes.
    untimed = sum(one.untimed_cells for one in experiments)
    assert 5 * untimed < sum(len(one.durations) for one in experiments)


def test_conditions_keep_a_claim_s_cells_and_leave_out_what_they_can() -> None:
    pairs = product(("1", "10"), ("json", "xml"))
    planned = {f"{n} {name}": {"n": n, "format": name} for n, name in pairs}
    levels = [*planned.values()]
    assert choose_conditions(planned, levels) == ((), tuple(planned))
    assert choose_conditions(planned, levels[:1]) in (
        (("n=1", "format=json"), ("1 json",)),
        (("format=json", "n=1"), ("1 json",)),
    )
    assert choose_conditions(planned, levels[:2]) == (("n=1",), ("1 json", "1 xml"))
    assert choose_conditions(planned, [{"n": "7", "format": "json"}]) is None


def test_minutes_are_of_five_blocks_and_count_a_shared_cell_once() -> None:
    first = Experiment(1, "crud", "decide", (), (), {"a": 60.0, "b": None})
    second = Experiment(2, "crud", "decide", ("n=1",), (), {"a": 60.0, "c": 12.0})
    assert (first.untimed_cells, count_minutes([first])) == (1, 5.0)
    assert count_minutes([first, second]) == 6.0
    assert second.command == "benchbook run crud --profile decide --where n=1 --set blocks=5"


def test_the_appendix_has_each_claim_with_its_verdict_and_the_sections_that_reviewers_know(
    folder: Path, committed: Analysis
) -> None:
    text = (folder / artefact.APPENDIX).read_text(encoding="utf-8")
    headings = [line.lstrip("# ") for line in text.splitlines() if line.startswith("##")]
    assert {*SECTIONS} <= {*headings}
    limitations = text.partition("## Limitations")[2]
    for claim in committed.verdicts:
        assert f"`{claim.id}`" in text and claim.where
        if claim.verdict in ("not run", "not comparable"):
            assert f"`{claim.id}`" in limitations and claim.why.replace("|", "/") in limitations
        else:
            assert f"**{claim.verdict}**" in text
    assert "nan" not in text.replace("nano", "") and str(Path.home()) not in text
    assert {path.name for path in folder.iterdir()} == {*artefact.FILES}


def test_the_crate_has_claims_verdicts_and_experiments_and_no_loose_end(
    folder: Path, committed: Analysis
) -> None:
    graph = json.loads((folder / crate.METADATA).read_text(encoding="utf-8"))["@graph"]
    known = {entity["@id"] for entity in graph}
    assert len(known) == len(graph)
    context = "https://w3id.org/ro/crate/1.3"
    assert {*_list_references(graph)} - known <= {context}
    # What the specification asks of each: a name, and another that refers to it.
    assert known - {*_list_references(graph)} == {crate.METADATA}
    assert not [entity["@id"] for entity in graph if not entity.get("name")]
    assert {file["name"]: file["description"] for file in graph if file["@type"] == "File"} == {
        name: what for name, what in artefact.FILES.items() if name != crate.METADATA
    }
    read = ROCrate(folder)
    verdicts = committed.verdicts
    assert [one["text"] for one in read.get_by_type("Claim")] == [claim.says for claim in verdicts]
    ratings = [one["reviewRating"]["name"] for one in read.get_by_type("ClaimReview")]
    assert ratings == [claim.verdict for claim in verdicts]
    assert all(one["step"] and one["about"] for one in read.get_by_type("HowTo"))
    assert read.root_dataset["license"] and read.root_dataset["datePublished"]


def _list_references(graph: list[dict[str, Any]]) -> list[str]:
    """Return the ids to which entities refer."""
    references: list[str] = []
    for entity in graph:
        for value in entity.values():
            parts = value if isinstance(value, list) else [value]
            references += [part["@id"] for part in parts if isinstance(part, dict)]
    return references


def test_a_folder_with_files_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").touch()
    command = ["report", "--reference", "--artefact", str(tmp_path)]
    assert cli.main(command) == USAGE
    assert "is not empty: name a new folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
