"""Tables of ratios in several languages: of the comparisons' cells, complete, with gaps named."""

import pandas as pd
import pytest

import constructed
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.published import find_published_value
from benchbook.analysis.runs import Analysis
from benchbook.papers import exhibits
from benchbook.plots import ratio_plot
from benchbook.plots.save import draw_exhibit
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.text.number_format import format_estimate
from benchbook.text.number_format import format_number as written

SHOWN = {
    "bookstore": {"format", "case"},
    "tcp": {"format", "json_codec", "xml_codec", "process"},
    "drivers": {"driver", "attributes"},
    "crud": {"database", "topology", "timeout_s"},
    "replication": {"database", "model", "timeout_s"},
}
OF_ALL = {"seed", "repetitions", "language", "arm", "dataset_file", "n"}


@pytest.mark.parametrize("study", SLUGS)
def test_a_figure_keeps_one_level_of_each_factor_that_it_does_not_show(study: str):
    settled = {*exhibits.PAPER_EXHIBITS[study].levels}
    assert {*load_study(study).Parameters.model_fields} - settled == SHOWN[study] | OF_ALL


@pytest.fixture(scope="module")
def observed() -> pd.DataFrame:
    return constructed.observations()


@pytest.fixture(scope="module")
def on_two_stacks() -> pd.DataFrame:
    return constructed.on_two_stacks()


def test_the_papers_t_test_is_repeated_for_each_language_on_the_tables_cells(
    observed,
):
    java, names, _ = constructed.STACKS["tcp"]
    python = observed[observed["study"] == "tcp"]
    other = constructed.on(java, names, python)
    slower = other["format"].eq("xml") & other["unit"].eq("ns") & other["role"].eq("server")
    other["value"] = other["value"].mask(slower, other["value"] * 9)
    variant = python.assign(
        cell_id=python["cell_id"] + "x",
        transport="batched",
        value=python["value"] * (1 + python["format"].eq("xml")),
    )
    frames = [
        exhibits.TABLES["tcp_table8_p_values"](Analysis(pd.concat(parts, ignore_index=True))).frame
        for parts in ([python], [variant, python, other], [other])
    ]
    alone, both, java_alone = frames
    assert both["p, Python, here"].tolist() == alone["p, here"].tolist()
    assert (
        both["p, Java, here"].tolist()
        == java_alone["p, Java, here"].tolist()
        != alone["p, here"].tolist()
    )


def add_codec(frame: pd.DataFrame, codec: str, of: str, factor: float) -> pd.DataFrame:
    """Return cells of a codec of study `tcp` as those of another, `factor` times as slow."""
    of_format = "json_codec" if of in ("orjson", "jackson") else "xml_codec"
    rows = frame[(frame["study"] == "tcp") & (frame[of_format] == of)]
    slower = rows["codec"].eq(of) & rows["unit"].eq("ns")
    return rows.assign(
        codec=rows["codec"].replace(of, codec),
        cell_id=rows["cell_id"] + codec,
        **{of_format: codec},
        value=rows["value"].mask(slower, rows["value"] * factor),
    )


def test_every_decoder_is_divided_by_its_languages_json_codec(
    on_two_stacks,
):
    slow = (
        ("xmldecoder", "jaxb", 9),
        ("dom", "jaxb", 30),
        ("etree", "lxml", 2),
        ("msgspec", "orjson", 0.5),
    )
    mine = pd.concat(
        [on_two_stacks, *(add_codec(on_two_stacks, *one) for one in slow)], ignore_index=True
    )
    exhibit = exhibits.TABLES["tcp_decoders"](Analysis(mine))
    rows = exhibit.frame.set_index(["Objects", "Codec"])
    assert len(rows) == 2 * 6, "two sizes; the base of each language has no row"
    analysed = Analysis(mine[mine["study"] == "tcp"])
    found = Comparison.to_frame(analysed.tables)
    shared = found["label"].str.contains("process=together") & found["estimate"].notna()
    found = found[(found["metric"] == "wall_time") & (found["n"] == 100_000) & shared].set_index(
        "a"
    )
    for side, name in (
        ("XML", "lxml"),
        ("XML (JAXB)", "JAXB"),
        ("XML (XMLDecoder)", "XMLDecoder"),
        ("XML (DOM)", "DOM"),
    ):
        row = found.loc[side]
        text = format_estimate(row["estimate"], row["low"], row["high"])
        assert rows.loc[("100,000", name), "Time, here"] == text
    assert rows.loc[("100,000", "msgspec"), "Time, here"].startswith("0.500")
    assert rows.loc[("100,000", "msgspec"), "Time, published"] == "–"
    assert rows.loc[("100,000", "DOM"), "Time, published"] == written(310017.47 / 7497.36)
    assert list(rows.index[rows["Nearest"] == "nearest"]) == [
        ("20,000", "XMLDecoder"),
        ("100,000", "XMLDecoder"),
    ]
    assert "Java: not run in this profile: JAXB, one context per object" in exhibit.notes


def test_every_condition_of_both_drivers_has_ratios_or_says_not_run(on_two_stacks):
    node = on_two_stacks[
        (on_two_stacks["language"] == "node") & (on_two_stacks["metric"] == "memory_change")
    ]
    heap = node.assign(
        metric="heap_change",
        value=node["value"].mask(node["operation"] == "delete", -node["value"]),
    )
    mine = pd.concat([on_two_stacks, heap], ignore_index=True)
    frame = exhibits.TABLES["drivers_pairs"](Analysis(mine)).frame
    assert len(frame) == 32
    pairs = frame[["Node.js: time, here", "Python: CPU time, here"]]
    assert (pairs.eq("not run").any(axis=1) == frame["Records"].ne("1,000")).all()
    row = frame.set_index(["Attributes", "Records", "Operation"]).loc[(6, "1,000", "find")]
    found = Analysis(mine[mine["study"] == "drivers"]).tables
    of_find = [one for one in found if (one.operation, one.metric) == ("find", "wall_time")]
    of_mongoose = [one for one in of_find if one.a == "Mongoose"]
    one = next(one for one in of_mongoose if one.settings["attributes"] == 6)
    assert row["Node.js: time, here"] == format_estimate(one.estimate, one.low, one.high)
    assert row["Node.js: new memory on the heap, here"] == row["Node.js: new memory, here"]
    assert row["Node.js: new memory on the heap, here"].endswith(") KB"), (
        "memory has a difference, and no ratio"
    )


def test_cold_ratios_have_the_published_ones_and_say_which_are_near(
    on_two_stacks,
):
    frame = exhibits.TABLES["bookstore_cold"](Analysis(on_two_stacks)).frame.set_index(
        ["Case", "Books"]
    )
    assert len(frame) == 10
    assert frame.loc[(2, "10,000"), "written and read, published"] == written(
        find_published_value("bookstore", "Case 2 table", "10000", "XML time")
        / find_published_value("bookstore", "Case 2 table", "10000", "JSON time")
    )
    for language in ("Java", "Python"):
        said = frame[f"{language}: within 30 %"]
        assert said.loc[(1, "1,000")].startswith("yes") and said.loc[(1, "10")].startswith("no")
        assert said.loc[(1, "100")] == "not run"
        assert " (" in frame.loc[(1, "10"), f"{language}: read, here"]


def test_a_warm_cell_is_not_taken_for_a_cold_one(observed):
    java, names, _ = constructed.STACKS["bookstore"]
    warm = constructed.on(java, names, observed[observed["study"] == "bookstore"])
    warm["process"] = "warm"
    exhibit = exhibits.TABLES["bookstore_cold"](
        Analysis(pd.concat([observed, warm], ignore_index=True))
    )
    assert (exhibit.frame["Java: within 30 %"] == "not run").all()
    assert "not run in this profile: Java" in exhibit.notes


def test_far_ends_of_intervals_are_cut_off():
    assert (
        format_estimate(2.0, 1e-9, float("inf"))
        == format_estimate(2.0, 0.0, float("inf"))
        == "2.0 (< 0.001 to > 1,000)"
    )
    assert format_estimate(2.0, 1e-9, 1e9) == "2.0 (< 0.001 to > 1,000)"
    assert format_estimate(2.0, 1.5, float("inf")) == "2.0 (1.5 or more)"
    assert format_estimate(2.0, 0.0, 2.5) == "2.0 (2.5 or less)"
    assert format_estimate(2.0, 0.02, 19.0) == "2.00 (0.02 to 19.00)", (
        "no end of some size is rounded to 0"
    )
    assert (
        format_estimate(2.0, float("nan"), float("nan"))
        == format_estimate(2.0, float("-inf"), float("inf"))
        == "2.00"
    )
    assert format_estimate(-2000.0, -5e4, 4e4, "KB") == "-2,000 (-50,000 to 40,000) KB"


def test_replication_through_node_has_its_own_row(observed):
    crud = observed[observed["study"] == "crud"]
    both = pd.concat(
        [crud, constructed.on("node", {}, crud[crud["database"] == "mongodb"])], ignore_index=True
    )
    drawn = exhibits.FIGURES["crud_ratios_replication"](Analysis(both)).frame
    assert {"MongoDB", "MongoDB, Node.js"} <= set(drawn["level"])


def test_noisy_ratios_of_own_cells_are_drawn_hollow_and_named_in_the_legend():
    about = {"study": "crud", "name": "", "language": "python", "role": "client", "unit": "ns"}
    about |= {"metric": "elapsed_time", "a": "PostgreSQL", "b": "MongoDB", "n": 10, "blocks": 5}
    about |= {"label": "n=10, calls=one", "settings": {"dataset_file": "sales, final.csv"}}
    quiet = Comparison(operation="insert", estimate=2.0, low=1.5, high=2.5, **about)
    noisy = Comparison(operation="delete", estimate=3.0, low=0.5, high=9.0, noisy=2, **about)
    drawn = ratio_plot.draw_own_cells([quiet, noisy], "crud")
    assert drawn.notes[-1] == "all: sales, final.csv, n=10, calls=one"
    assert [*drawn.frame["level"]] == ["insert", "delete"]
    figure = draw_exhibit(drawn)
    faces = {
        float(line.get_xdata()[0]): line.get_markerfacecolor()
        for line in figure.axes[0].lines
        if len(line.get_xdata()) == 1
    }
    assert faces[3.0] == "none" and faces[2.0] != "none"
    (legend,) = figure.legends
    assert any("noisy" in text.get_text() for text in legend.get_texts())
