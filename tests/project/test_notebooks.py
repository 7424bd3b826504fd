"""The notebooks of the studies: what their prose holds to, and what they are shown of a run."""

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dialect
from benchbook.cli import lab
from benchbook.files.inputs import InputError
from benchbook.plots import save
from benchbook.report import notebooks
from benchbook.studies import bookstore
from checkout import ROOT

PROSE = [
    *sorted((ROOT / "notebooks").glob("0*.ipynb")),
    ROOT / "lib/benchbook/cli/skeletons/study/notebook.json",
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
    text = notebooks.show_answer(bookstore, observations, SMALL).data
    assert text.count("XML / JSON") == 1
    assert "5 repetitions in one process, in Python: no verdict." in text
    assert "The reference run has blocks in Java and Python" in text
    assert "report.html#bookstore" in text


def test_sizes_are_drawn_with_all_sizes_of_the_paper(monkeypatch: pytest.MonkeyPatch):
    exhibits = []
    draw = save.draw_exhibit
    monkeypatch.setattr(
        save, "draw_exhibit", lambda exhibit: (exhibits.append(exhibit), draw(exhibit))[1]
    )
    picture = notebooks.draw_sizes(bookstore, SMALL, [1, 20], operations=["round_trip"])
    assert picture.data.startswith(b"\x89PNG")
    (exhibit,) = exhibits
    places = exhibit.frame.groupby("source")["level"].apply(list)
    assert places["here"] == [1, 20]
    assert sorted(places["published"]) == [1, 10, 100, 1000, 10000]


def test_sizes_of_one_side_alone_are_refused():
    with pytest.raises(InputError, match="no ratio at any size"):
        notebooks.draw_sizes(bookstore, {**SMALL, "process": "apart", "format": "json"}, [1])


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
