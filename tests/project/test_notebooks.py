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
from benchbook.cli import lab
from benchbook.files.inputs import InputError
from benchbook.plots import save
from benchbook.report import notebooks
from benchbook.studies import bookstore
from benchbook.studies.cell import NOISE_ATTRIBUTE
from checkout import ROOT

PROSE = [
    *sorted((ROOT / "notebooks").glob("0*.ipynb")),
    ROOT / "contrib/examples/study/benchbook_my_example/my_example.ipynb",
]
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
