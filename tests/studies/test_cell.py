"""Every study's parameters and rows; each notebook's parameters cell says what its study takes."""

import ast
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter, ValidationError, model_validator

from benchbook import grid
from benchbook.analysis.runs import load_reference_means
from benchbook.files.inputs import InputError
from benchbook.measure import Reading, time_action
from benchbook.registry import plugins
from benchbook.registry.papers import PAPERS
from benchbook.results.schema import METRIC_UNITS, OBSERVATIONS, VALUES
from benchbook.studies import catalogue, cell
from benchbook.studies.catalogue import SLUGS, find_notebook, load_study
from benchbook.studies.study import Study

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def rows() -> cell.Rows:
    found = cell.Rows()
    found.add(0, "insert", time_action(list)[1], 10, started_at=NOW, format="json")
    found.add_value(0, "insert", "client", "size", 42, "len", 1, 10, started_at=NOW)
    return found


def parameters_cell(slug: str) -> list[ast.AnnAssign]:
    cells = json.loads(find_notebook(slug).read_text())["cells"]
    (found,) = (one for one in cells if "parameters" in one["metadata"].get("tags", []))
    statements = ast.parse("".join(found["source"])).body
    assert all(isinstance(statement, ast.AnnAssign) for statement in statements), (
        "annotated assignments only"
    )
    return [statement for statement in statements if isinstance(statement, ast.AnnAssign)]


def test_rows_are_typed_and_carry_the_units_of_their_metrics():
    frame = rows().frame()
    assert list(frame.columns) == [*VALUES.names, "format"]
    assert list(frame["unit"]) == ["ns", "B"]
    assert frame["value"].dtype == "float64"
    assert list(frame["format"].isna()) == [False, True]


def test_a_frame_without_rows_has_all_columns():
    assert list(cell.Rows().frame().columns) == VALUES.names


@pytest.mark.parametrize(
    ("reading", "column"),
    [
        (Reading("wall_tme", "client", 1, "ns", "clock", 1), "format"),
        (Reading("wall_time", "client", 1, "ms", "clock", 1), "format"),
        (Reading("wall_time", "client", 1, "ns", "clock", 1), "frmat"),
    ],
)
def test_unknown_metrics_units_and_columns_are_refused(reading: Reading, column: str):
    with pytest.raises(ValueError, match=r"the results (hold|have) no"):
        cell.Rows().add(0, "insert", [reading], 1, started_at=NOW, **{column: "x"})


def test_rows_are_delivered_to_the_file_that_a_runner_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    frame = rows().frame()
    assert cell.deliver(frame) is frame
    monkeypatch.setenv(cell.RESULT_VARIABLE, str(tmp_path / "rows.parquet"))
    cell.deliver(frame)
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.schema.equals(OBSERVATIONS)
    assert table["value"].to_pylist() == frame["value"].to_list()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_rows_that_do_not_fit_the_schema_are_not_delivered():
    with pytest.raises(ValueError, match="not of its column's type"):
        cell.deliver(pd.DataFrame({"value": ["fast"]}))


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"repetitions": 0}, {"repetitions": "2"}, {"arm": "c"}, {"sed": 1}]
)
def test_parameters_are_strict(wrong: dict[str, Any]):
    with pytest.raises(ValidationError):
        cell.CellParameters(**wrong)


OWN_VARIANTS = {
    "java": [{"format": "xml", "codec": "jaxb"}, {"format": "json", "codec": "jackson"}],
    "node": [{"driver": "mongoclient"}, {"driver": "mongoose"}],
}
"""What a language compares with its own codecs or drivers."""


@pytest.mark.parametrize("slug", [slug for slug, paper in PAPERS.items() if paper.languages])
def test_a_language_chooses_its_own_codecs_and_drivers(slug: str):
    model = load_study(slug).Parameters
    for language, levels in model.language_levels.items():
        unnamed = dict.fromkeys(levels)
        chosen = model(language=language).variants()
        assert chosen == model(language=language, **unnamed).variants() == OWN_VARIANTS[language]
        assert model(**unnamed) == model()


def test_an_unknown_study_is_refused():
    with pytest.raises(KeyError, match="no study 'cruds'"):
        load_study("cruds")


def test_a_plug_ins_study_that_is_still_a_module_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
):
    entry = plugins.PluginEntry("benchbook.studies.crud", "", "benchbook-old")
    monkeypatch.setattr(catalogue, "_ADDED", {"old": entry})
    monkeypatch.setattr(catalogue, "STUDIES", (*SLUGS, "old"))
    with pytest.raises(InputError) as refused:
        load_study("old")
    assert str(refused.value) == (
        "benchbook-old: the study old is not a benchbook.studies.study.Study: write"
        " STUDY = Study(...) in benchbook.studies.crud and announce benchbook.studies.crud:STUDY"
        " in pyproject.toml (docs/extending.md)"
    )


class PlainParameters(cell.CellParameters):
    """A study's parameters without ``n``, ``network``, ``commit`` and ``process``."""

    level: Literal[1, 2, 3] = 1
    limit: Literal[1] = 1

    @model_validator(mode="after")
    def _check(self) -> "PlainParameters":
        if self.level == 3:
            raise ValueError("level: 3 needs another limit")
        return self


def test_a_study_that_states_no_more_needs_no_server_and_delivers_what_its_levels_expect():
    study = Study(
        "plain",
        PlainParameters,
        run=lambda _: pd.DataFrame(),
        expected=lambda parameters: {("pack", "client", f"level {parameters.level}")},
        dataset=lambda _: "none",
    )
    parameters = study.Parameters()
    assert study.deployment(parameters) == ("none", "none")
    assert not study.modules(parameters) and not study.checks(parameters)
    assert not study.other_products(parameters)
    assert study.list_outputs() == {
        ("pack", "client", "level 1"),
        ("pack", "client", "level 2"),
    }, "each level that the other defaults allow"


def test_a_parameter_that_a_study_does_not_have_has_its_neutral_level():
    parameters = PlainParameters()
    assert parameters.record_count is None
    assert (parameters.network_name, parameters.commit_time) == ("none", "each")
    assert not parameters.shares_process
    crud = load_study("crud").Parameters.model_validate(
        {"database": "couchdb", "n": 7, "network": "wan", "commit": "later"}
    )
    assert crud.record_count == 7
    assert (crud.network_name, crud.commit_time) == ("wan", "later")
    assert load_study("tcp").Parameters().shares_process


@pytest.mark.parametrize("slug", SLUGS)
def test_each_papers_study_has_the_name_by_which_it_is_loaded(slug: str):
    assert load_study(slug).name == slug


@pytest.mark.parametrize("slug", SLUGS)
def test_a_notebooks_parameters_cell_and_its_studys_parameters_agree(slug: str):
    model = load_study(slug).Parameters
    assigned = {ast.unparse(one.target): one for one in parameters_cell(slug)}
    assert set(assigned) == set(model.model_fields)
    defaults = {name: ast.literal_eval(one.value) for name, one in assigned.items() if one.value}
    model(**defaults)
    for name, one in assigned.items():
        annotation = TypeAdapter(eval(ast.unparse(one.annotation)))
        annotation.validate_python(defaults[name], strict=True)
        annotation.validate_python(model.model_fields[name].default, strict=True)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_notebooks_comments_name_all_levels_of_each_parameter_and_no_others(slug: str):
    model = load_study(slug).Parameters
    defaults = {
        ast.unparse(one.target): ast.literal_eval(one.value)
        for one in parameters_cell(slug)
        if one.value
    }
    planned = [one.parameters.model_dump() for one in grid.make_plan([slug], "paper").cells]
    for name, comment in read_comments(slug).items():
        field, listed = model.model_fields[name], list_literals(comment)
        if get_origin(field.annotation) is Literal:
            levels = set(get_args(field.annotation))
            joined = {level for level in levels if {*str(level).split("+")} <= set(listed)}
            assert {*listed, *joined, defaults[name]} - {None} == levels, name
        elif field.annotation is bool:
            assert {*listed, defaults[name]} == {True, False}, name
        elif name in ("n", "repetitions"):
            assert set(listed) <= {cell[name] for cell in planned}, f"{name}: not the paper's"
        else:
            for level in listed:
                TypeAdapter(field.rebuild_annotation()).validate_python(level)


def read_comments(slug: str) -> dict[str, str]:
    """Return the comments above and beside each parameter of a study's notebook, by its name."""
    cells = json.loads(find_notebook(slug).read_text())["cells"]
    (found,) = (one for one in cells if "parameters" in one["metadata"].get("tags", []))
    comments: dict[str, str] = {}
    above = ""
    for line in found["source"]:
        assignment, _, comment = line.partition("# ")
        above += comment
        if assignment:
            comments[assignment.partition(":")[0]] = above
            above = ""
    return comments


def list_literals(comment: str) -> list[Any]:
    """Return the levels that a comment names as Python would write them; JSON in quotes is one."""
    words = re.findall(r"'[^']*'|\"[^\"]*\"|\b(?:True|False|\d+)\b", comment)
    return [ast.literal_eval(word) for word in words]


@pytest.mark.parametrize("slug", SLUGS)
def test_parameters_are_read_from_the_names_of_a_notebook(slug: str):
    model = load_study(slug).Parameters
    given = {
        ast.unparse(one.target): ast.literal_eval(one.value)
        for one in parameters_cell(slug)
        if one.value
    }
    assert model.of({**given, "observations": None}) == model(**given)
    del given["repetitions"]
    with pytest.raises(
        InputError, match="repetitions: no such name: assign it in the notebook cell"
    ):
        model.of(given)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_notebooks_defaults_are_a_cell_of_the_reference_run(slug: str):
    model = load_study(slug).Parameters
    given = {
        ast.unparse(one.target): ast.literal_eval(one.value)
        for one in parameters_cell(slug)
        if one.value
    }
    fewer = {"repetitions"}  # a notebook makes fewer, and says so
    means = load_reference_means()
    cells = means[means["study"] == slug].drop_duplicates("cell_id").to_dict("records")
    measured = [model(**model.read_levels(cell)).model_dump(exclude=fewer) for cell in cells]
    assert model(**given).model_dump(exclude=fewer) in measured


@pytest.mark.parametrize("slug", SLUGS)
def test_a_study_declares_outputs_a_deployment_and_a_dataset_for_every_cell_of_its_smoke_profile(
    slug: str,
):
    study = load_study(slug)
    for one in grid.make_plan([slug], "smoke").cells:
        outputs = study.expected(one.parameters)
        assert outputs and {metric for _, _, metric in outputs} <= set(METRIC_UNITS)
        assert one.topology in ("none", "single", "replicated")
        assert study.dataset(one.parameters)
