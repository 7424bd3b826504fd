"""The notebooks of the studies: what their prose holds to, and what they are shown of a run."""

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import papermill
import pytest
from papermill.exceptions import PapermillExecutionError

import dialect
from benchbook.analysis import claim_files
from benchbook.analysis.intervals import compute_interval
from benchbook.analysis.published import load_published_numbers
from benchbook.analysis.quantities import DERIVED
from benchbook.cli import lab
from benchbook.files.inputs import InputError
from benchbook.plots import save
from benchbook.report import notebooks
from benchbook.results.schema import METRIC_UNITS
from benchbook.studies import bookstore
from benchbook.studies.catalogue import SLUGS
from benchbook.studies.cell import NOISE_ATTRIBUTE
from benchbook.text.number_format import PRINTED_UNITS
from checkout import ROOT

PROSE = [
    *sorted((ROOT / "notebooks").glob("0*.ipynb")),
    ROOT / "contrib/examples/study/benchbook_my_example/my_example.ipynb",
]
IN_MS = {"ms": 1, "µs": 1000}
"""How many of a unit a millisecond has: the drawn unit depends on the machine's speed."""
SMALL: dict[str, Any] = {**bookstore.Parameters().model_dump(), "n": 10, "repetitions": 5}


@pytest.fixture(scope="module")
def observations() -> pd.DataFrame:
    return bookstore.run(bookstore.Parameters.of(SMALL))


def read_prose(notebook: Path) -> str:
    """Return a notebook's text, each line, cell of a table and item of a list as a paragraph."""
    cells = json.loads(notebook.read_text())["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    text = re.sub(r"```.*?```|<[^>]+>|\*", "", text, flags=re.DOTALL)
    return re.sub(r"\n|\|", "\n\n", text)


@pytest.mark.parametrize("notebook", PROSE, ids=lambda path: path.stem)
def test_no_sentence_of_a_notebook_is_too_long(notebook: Path):
    assert dialect.find_long_sentences(read_prose(notebook)) == []


def test_values_are_shown_in_units_of_few_digits_and_a_missing_one_is_empty(
    observations: pd.DataFrame,
):
    rows = observations.copy()
    rows.loc[rows["metric"] == "size", "value"] = np.nan
    page = notebooks.show_values(rows).to_html()
    assert "nan" not in page.lower().replace("perf_counter_ns", "")
    assert re.search(r">\d[\d.]* (ms|µs)<", page)
    assert not re.search(r"\de\+\d", page)


def test_a_table_has_few_digits_and_no_nan():
    page = notebooks.show_table(
        pd.DataFrame({"here": [2816.0871, np.nan], "what": ["time", None]})
    ).to_html()
    assert re.findall(r">([^<>]*)</td>", page) == ["2,816", "time", "", ""]


def test_an_answer_names_its_ratio_once_and_says_what_ran_where(observations: pd.DataFrame):
    text = notebooks.show_answer(bookstore.STUDY, observations, SMALL).data
    assert text.count("XML / JSON") == 1
    assert "5 repetitions in one process, in Python: no verdict." in text
    assert "The reference run has blocks in Java and Python" in text
    assert "report.html#bookstore" in text


def test_an_answer_says_whether_other_programs_were_busy(observations: pd.DataFrame):
    assert isinstance(observations.attrs[NOISE_ATTRIBUTE], str)
    disturbed = observations.copy()
    assert isinstance(disturbed.attrs[NOISE_ATTRIBUTE], str)
    alone = "The intervals are of this process alone"
    assert alone in str(notebooks.show_answer(bookstore.STUDY, disturbed, SMALL).data)
    disturbed.attrs[NOISE_ATTRIBUTE] = "other processes use 1.90 processors (python 1.90)"
    said = str(notebooks.show_answer(bookstore.STUDY, disturbed, SMALL).data)
    assert "**Noisy:** it ran while other programs were busy: other processes use 1.90" in said
    disturbed.attrs[NOISE_ATTRIBUTE] = ""
    said = str(notebooks.show_answer(bookstore.STUDY, disturbed, SMALL).data)
    assert said.startswith("No other program was busy meanwhile.")


def run_notebook(name: str, folder: Path, **parameters: Any) -> None:
    papermill.execute_notebook(
        ROOT / "notebooks" / name,
        folder / "out.ipynb",
        parameters=parameters,
        kernel_name="python3",
        cwd=ROOT / "notebooks",
        progress_bar=False,
    )


@pytest.mark.parametrize(("wrong", "right"), [("nn", "n"), ("databse", "database")])
def test_papermill_with_a_name_that_is_not_a_parameter_ends_before_anything_is_measured(
    tmp_path: Path, wrong: str, right: str
):
    with pytest.raises(PapermillExecutionError) as refused:
        run_notebook("04_crud.ipynb", tmp_path, **{wrong: 200})
    assert f"no parameter {wrong!r}: did you mean {right!r}?" in str(refused.value)
    executed = json.loads((tmp_path / "out.ipynb").read_text())
    assert not any("answer" in cell["id"] and cell.get("outputs") for cell in executed["cells"])


def test_only_names_of_the_newest_cells_of_parameters_are_looked_at():
    cell = "\n".join(f"{name} = {value!r}" for name, value in SMALL.items())
    accepted = {**SMALL, "mine": 1, "In": ["mine = 1", cell, "more = 2", "%time"]}
    assert bookstore.Parameters.of(accepted).n == 10
    for history in ([f"{cell}\nrepetitons = 5"], [cell, "# Parameters\nrepetitons = 5\n"]):
        with pytest.raises(InputError, match="no parameter 'repetitons': did you mean"):
            bookstore.Parameters.of({**SMALL, "repetitons": 5, "In": history})
    mended = [cell, "# Parameters\nrepetitons = 5\n", "# Parameters\nrepetitions = 5\n"]
    bookstore.Parameters.of({**SMALL, "repetitons": 5, "In": mended})
    for history in ([f"{cell}\nrepetitons = 5"], [cell, "# Parameters\nrepetitons = 5\n"]):
        # Once it is mended, the wrong name of before is not held against the user.
        bookstore.Parameters.of({**SMALL, "repetitons": 5, "In": [*history, cell]})


def read_code(notebook: Path, until: str) -> list[str]:
    """Return the lines of code of the cells that draw, up to a cell."""
    lines: list[str] = []
    for cell in json.loads(notebook.read_text())["cells"]:
        if "draw" in cell["metadata"].get("tags", ()):
            lines += [line for line in cell["source"] if line.strip() and line[0] != "#"]
        if cell["id"] == until:
            return lines
    raise AssertionError(f"{notebook.name} has no cell {until}")


@pytest.mark.parametrize("notebook", PROSE[1:6], ids=lambda path: path.stem)
def test_from_the_question_to_the_figure_there_are_at_most_ten_lines_that_draw(notebook: Path):
    lines = read_code(notebook, "figure")
    assert len(lines) <= 10, lines
    assert any("draw_beside_paper(" in line for line in lines)


def list_drawn(axes: Any) -> set[tuple[float, float]]:
    """Return the places of a panel's hollow marks; the legend's entries have none."""
    places = np.concatenate([line.get_xydata() for line in axes.lines])
    return {(round(x, 6), y) for x, y in places}


def test_repetitions_are_drawn_with_the_papers_numbers_in_the_same_unit(observations: pd.DataFrame):
    figure = notebooks.draw_beside_paper(bookstore.STUDY, observations, SMALL, in_order=True)
    time, size, order = figure.axes
    (quantity, unit), (of_size, size_unit) = (
        axes.get_title("left").split(", ") for axes in (time, size)
    )
    assert (quantity, of_size, size_unit) == ("time", "size", "KB")
    rows = [tick.get_text() for tick in time.get_yticklabels()]
    assert rows == ["round trip", "marshal", "unmarshal"]
    assert list_drawn(time) == {(0.77 * IN_MS[unit], 0), (1.32 * IN_MS[unit], 0)}
    assert list_drawn(size) == {(1, 1), (2, 1)}
    trips = observations[observations["operation"] == "round_trip"]
    times = trips.loc[trips["metric"] == "wall_time", "value"].to_numpy() / 1e6
    drawn = np.concatenate([line.get_ydata() for line in order.lines])
    assert np.sort(drawn) == pytest.approx(np.sort(times) * IN_MS[unit])


def test_a_table_has_the_means_of_a_run_and_the_papers_numbers(observations: pd.DataFrame):
    table = notebooks.show_beside_paper(bookstore.STUDY, observations, SMALL).data
    row = table[table["of"] == "round trip"].iloc[0]
    trips = observations[observations["operation"] == "round_trip"]
    times = trips[(trips["metric"] == "wall_time") & (trips["format"] == "xml")]["value"]
    scale = IN_MS[row["quantity"].removeprefix("time, ")]
    assert row["XML, mean"] == pytest.approx(times.mean() / 1e6 * scale)
    assert row["XML, the paper"] == pytest.approx(1.32 * scale)


def test_rows_of_two_runs_are_named_by_what_differs(observations: pd.DataFrame):
    other = notebooks.measure_other(bookstore.STUDY, SMALL, case=2)
    table = notebooks.show_beside_paper(bookstore.STUDY, observations, SMALL, other).data
    assert {"round trip, case = 1", "round trip, case = 2"} < {*table["of"]}


def test_no_number_of_a_paper_stands_beside_a_users_records(tmp_path: Path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([{"name": f"name {number}"} for number in range(10)]))
    own = {**SMALL, "dataset_file": str(file)}
    run = notebooks.measure_other(bookstore.STUDY, own)
    table = notebooks.show_beside_paper(bookstore.STUDY, run.rows, own).data
    assert {*table} == {"quantity", "of", "JSON, mean", "XML, mean"}


@pytest.mark.parametrize("study", SLUGS)
def test_the_unit_of_each_printed_number_is_known_in_the_unit_of_its_quantity(study: str):
    ours = METRIC_UNITS | {derived.metric: derived.unit for derived in DERIVED}
    numbers = load_published_numbers(study)
    printed = []
    for pairs in claim_files.load_paper_comparisons(study):
        for place in pairs.places:
            printed += [(pairs, place, metric) for metric in place.metric]
    # A paper may print bounds only: then no comparison has a place.
    for pairs, place, metric in printed:
        called = pairs.called.get("metric", {}).get(metric, metric)
        rows = numbers
        for column, part in zip(("source", "row", "column"), place.key, strict=True):
            pattern = re.escape(part.replace("{metric}", called))
            pattern = re.sub(r"\\{\w+\\}", ".+", pattern)
            rows = rows[rows[column].str.fullmatch(pattern)]
        assert len(rows), (place, metric)
        for unit in {*rows["unit"]} - {ours[metric]}:
            assert (unit, ours[metric]) in PRINTED_UNITS, (place, metric)


def test_the_code_that_is_timed_is_shown_with_links_to_its_files(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT / "notebooks")
    text = notebooks.show_code(bookstore.RoundTrip.measure, compute_interval).data
    first, second = re.findall(r"^\[`([\w.]+)`\]\((\S+)\), line (\d+):$", text, re.MULTILINE)
    assert first[0] == "benchbook.studies.bookstore.RoundTrip.measure"
    for _, file, line in (first, second):
        code = (ROOT / "notebooks" / file).read_text().splitlines()[int(line) - 1].strip()
        assert f"\n{code}\n" in text


def test_sizes_are_drawn_with_all_sizes_of_the_paper(monkeypatch: pytest.MonkeyPatch):
    exhibits = []
    draw = save.draw_exhibit
    monkeypatch.setattr(
        save, "draw_exhibit", lambda exhibit: (exhibits.append(exhibit), draw(exhibit))[1]
    )
    picture = notebooks.draw_sizes(bookstore.STUDY, SMALL, [1, 20], operations=["round_trip"])
    assert picture.data.startswith(b"\x89PNG")
    (exhibit,) = exhibits
    places = exhibit.frame.groupby("source")["level"].apply(list)
    assert places["here"] == [1, 20]
    assert sorted(places["published"]) == [1, 10, 100, 1000, 10000]


def test_sizes_of_one_side_alone_are_refused():
    with pytest.raises(InputError, match="no ratio at any size"):
        notebooks.draw_sizes(bookstore.STUDY, {**SMALL, "process": "apart", "format": "json"}, [1])


def test_a_notebook_in_git_keeps_what_it_hides_when_it_is_saved(tmp_path: Path):
    hidden = {"jupyter": {"source_hidden": True}, "tags": ["draw"]}
    shown = {
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "cell_type": "code",
        "source": "",
    }
    cells = [{**shown, "id": "one", "metadata": hidden}, {**shown, "id": "two"}]
    file = tmp_path / "study.ipynb"
    file.write_text(json.dumps({"cells": cells, "metadata": {}}))
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    opened = [{**cells[0], "outputs": ["x"], "metadata": {"tags": ["draw"], "execution": {}}},
              {**cells[1], "metadata": {"jupyter": {"source_hidden": True}}}]  # fmt: skip
    model = {"type": "notebook", "content": {"cells": opened, "metadata": {"kernelspec": {}}}}
    lab.remove_outputs(model, file.name, SimpleNamespace(root_dir=str(tmp_path)))
    assert model["content"] == {"cells": cells, "metadata": {}}
