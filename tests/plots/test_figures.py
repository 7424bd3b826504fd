"""Tables and figures draw all that was measured, name what is missing, and repeat their bytes."""

import json
import re
import subprocess
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import seaborn

import constructed
from benchbook.analysis import claim_files
from benchbook.analysis.claims import MeasuredClaim as Judged
from benchbook.analysis.claims import build_term_settings
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.intervals import (
    compute_geometric_interval,
    compute_interval,
    compute_share_interval,
)
from benchbook.analysis.runs import Analysis
from benchbook.papers import exhibits, replication
from benchbook.plots import exhibit, points, style
from benchbook.plots.exhibit import Dots, Exhibit
from benchbook.plots.repetitions import draw_repetitions
from benchbook.plots.save import draw_exhibit, save_exhibit
from benchbook.plots.sheet import list_log_ticks
from benchbook.registry import products
from benchbook.registry.papers import PAPERS
from benchbook.registry.products import name_database
from benchbook.results.views import quote_formula
from benchbook.servers import processes
from benchbook.text import number_format
from benchbook.text.names import name_level
from benchbook.version import describe_version

EXHIBITS = exhibits.FIGURES | exhibits.TABLES
STUDIES = tuple(PAPERS)
IN_NETWORKS = [name for name in EXHIBITS if name.endswith("_networks")]


@pytest.fixture(scope="module")
def observed() -> pd.DataFrame:
    return constructed.observations()


@pytest.fixture(scope="module")
def analysis(observed: pd.DataFrame) -> Analysis:
    return Analysis(observed)


Drawn = Callable[[str], tuple[Exhibit, list[Path]]]


@pytest.fixture(scope="module")
def drawn(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Return a function that draws an exhibit once, as `draw_all` does, with its files."""
    folder = tmp_path_factory.mktemp("drawn")

    @cache
    def draw(name: str) -> tuple[Exhibit, list[Path]]:
        exhibit = exhibits.make_exhibit(analysis, name)
        return exhibit, save_exhibit(
            exhibit, folder / name, exhibits.describe_exhibit(analysis, name, "night")
        )

    return draw


@cache
def without(study: str) -> Analysis:
    return Analysis(constructed.observations(tuple(slug for slug in STUDIES if slug != study)))


def test_numbers_and_captions_import_no_drawing_library():
    loaded = (
        "import sys, benchbook.papers.numbers; print({'matplotlib', 'seaborn', 'scipy.stats'} & "
        "{*sys.modules})"
    )
    assert (
        subprocess.run([*processes.PYTHON, "-c", loaded], capture_output=True, text=True).stdout
        == "set()\n"
    )


def test_figures_have_seaborns_style_without_importing_seaborn():
    loaded = "import sys, benchbook.plots.save; print({'seaborn', 'scipy.stats'} & {*sys.modules})"
    assert (
        subprocess.run([*processes.PYTHON, "-c", loaded], capture_output=True, text=True).stdout
        == "set()\n"
    )
    colours = seaborn.color_palette("colorblind").as_hex()
    own = [style.BLUE, style.ORANGE, style.GREEN, style.VERMILION, style.PINK, style.SKY]
    assert own == [*colours[:5], colours[9]]
    with style.use_style():
        unlike = {
            name
            for name, value in seaborn.axes_style("ticks").items()
            if matplotlib.rcParams[name] != value
        }
    of_our_own = {
        *style.RC_PARAMS,
        "font.sans-serif",
        "image.cmap",
    }  # of fonts one is named, and of maps of colours none drawn
    assert unlike <= of_our_own and not unlike & {
        "lines.solid_capstyle",
        "patch.edgecolor",
        "patch.force_edgecolor",
    }


PRINTED = {
    "bookstore": {"table_case": (1, 2)},
    "tcp": {"table": range(1, 9), "fig": range(3, 6)},
    "drivers": {"table": (1,), "fig": range(2, 5)},
    "crud": {"table": range(1, 9), "fig": range(2, 9)},
    "replication": {"table": (1, 2), "fig": range(15, 19)},
}
"""The numbers of each paper's tables and figures of results."""


@pytest.mark.parametrize("study", STUDIES)
def test_every_result_table_and_figure_of_a_paper_is_registered(study: str):
    for kind, numbers in PRINTED[study].items():
        for number in numbers:
            printed = f"{study}_{kind}{number}_"
            assert any(f"{name}_".startswith(printed) for name in EXHIBITS), printed


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_draws_and_its_csv_has_the_drawn_values(name: str, drawn: Drawn):
    exhibit, written = drawn(name)
    assert (exhibit.drawing is not None) == (name in exhibits.FIGURES)
    # claims, networks and turns have tests of their own
    is_seen = not name.endswith(("_networks", "_turns"))
    if is_seen and not exhibits.VERDICT_FIGURE.search(name):
        assert "here" in set(exhibit.frame.get("source", ["here"])), (
            "this machine's values are not drawn"
        )
    (csv,) = (path for path in written if path.suffix == ".csv")
    again = pd.read_csv(csv, dtype=str, keep_default_na=False)
    assert list(again.columns) == list(exhibit.frame.columns)
    assert len(again) == len(exhibit.frame)
    if exhibit.drawing is not None:
        values = pd.read_csv(csv)["value"].astype(float)
        np.testing.assert_allclose(values, exhibit.frame["value"].astype(float), rtol=1e-12)
    assert {path.suffix for path in written} >= ({".svg"} if exhibit.drawing else {".csv", ".json"})


@pytest.mark.parametrize("name", IN_NETWORKS)
def test_cells_in_a_network_are_drawn_next_to_the_loopback(name: str):
    rows = constructed.observations((name.partition("_")[0],))
    in_network = rows.assign(network="lan-100m", cell_id=rows["cell_id"] + "r")
    points = EXHIBITS[name](Analysis(pd.concat([rows, in_network], ignore_index=True))).frame
    here = points[points["source"] == "here"]
    places = here.groupby(["panel", "level"])["series"].agg(list)
    assert not places.empty
    assert all(sorted(series) == ["100 Mbit/s", "loopback"] for series in places)
    assert EXHIBITS[name](Analysis(rows)).frame.empty, "what ran on the loopback alone is not in it"


@pytest.mark.parametrize("name", [name for name in EXHIBITS if name.partition("_")[0] in STUDIES])
def test_an_exhibit_of_a_missing_study_says_that_it_did_not_run(name):
    others = without(name.partition("_")[0])
    exhibit = EXHIBITS[name](others)
    said = " ".join(exhibit.notes) + " " + exhibit.frame.to_csv()
    if name != "drivers_table1_records":  # generated, not measured
        assert "not run" in said
    if exhibit.drawing is not None:
        assert not (exhibit.frame["source"] == "here").any()


def test_figures_draw_without_any_observation():
    nothing = Analysis(constructed.observations(()))
    for name, make_figure in exhibits.FIGURES.items():
        assert draw_exhibit(make_figure(nothing)).axes, name


def test_the_same_data_gives_the_same_bytes_in_any_order_and_process(
    observed, drawn: Drawn, tmp_path: Path
):
    shuffled = Analysis(observed.sample(frac=1, random_state=1))
    names = list(EXHIBITS)[::5]
    written = exhibits.draw_all(shuffled, tmp_path, "night", names)
    assert {path.stem for path in written} == set(names)
    assert not exhibits.FIGURES.keys() & exhibits.TABLES.keys()
    first: dict[str, bytes] = {}
    for name in names:
        first |= {path.name: path.read_bytes() for path in drawn(name)[1]}
    assert {path.name for path in written} == first.keys()
    for path in written:
        assert path.read_bytes() == first[path.name], path.name


def test_drawn_values_are_geometric_means_of_blocks_with_their_interval(observed, drawn):
    frame = drawn("crud_fig2_insert_single")[0].frame
    row = frame[(frame["source"] == "here") & (frame["level"] == "MongoDB")].iloc[0]
    mine = observed.query(
        "study == 'crud' and database == 'mongodb' and topology == 'single' and operation == "
        "'insert'"
    )
    means = mine[mine["metric"] == "wall_time"].groupby("block")["value"].mean() / 1e6
    one_day = compute_interval(np.log(means), ["a day"] * 5)
    assert (row["value"], row["low"], row["high"]) == pytest.approx(
        tuple(np.exp([one_day.estimate, one_day.low, one_day.high]))
    )
    assert row["blocks"] == 5


def test_noisy_blocks_are_left_out_and_counted(observed, drawn):
    name = "crud_fig2_insert_single"
    noisy = observed.assign(noisy=observed["block"] == 4)
    exhibit = exhibits.make_exhibit(Analysis(noisy), name)
    here = exhibit.frame[exhibit.frame["source"] == "here"]
    assert set(here["blocks"]) == {4} and here["low"].isna().all()
    assert any(note.startswith("left out: ") for note in exhibit.notes)
    assert not any(note.startswith("left out: ") for note in drawn(name)[0].notes)


def test_setup_tables_name_each_languages_runtime_and_the_suite():
    rows = constructed.on_two_stacks()
    suite = "benchbook 9.9.9 (1a2b3c4d5e)"
    rows["environment"] = json.dumps(constructed.MACHINE | {"suite": suite})
    rows["runtime"] = rows["language"].map(
        {"java": "OpenJDK 64-Bit Server VM 21.0.2+13", "node": "Node.js 20.1.2"}
    )
    rows["heap_limit"] = rows["language"].map({"java": 4_000_000_000, "node": 2_100_000_000})
    set_ups = {
        name.partition("_")[0]: name
        for name in exhibits.TABLES
        if name.endswith("_setup") and "2" not in name
    }
    assert set(set_ups) == set(STUDIES)
    analysis = Analysis(rows)
    for study, name in set_ups.items():
        here = exhibits.TABLES[name](analysis).frame.set_index("Item")["This machine"]
        assert (here["suite"], here["Python"]) == (suite, constructed.MACHINE["python"]), name
        language = constructed.STACKS.get(study, ("",))[0]
        assert here.get("JVM", "–") == (
            "OpenJDK 64-Bit Server VM 21.0.2+13" if language == "java" else "–"
        ), name
        assert here.get("Node.js", "–") == ("20.1.2" if language == "node" else "–"), name
        largest = {"java": "JVM maximum: 4.00 GB", "node": "Node.js maximum: 2.10 GB"}
        assert here.get("heap", "–") == largest.get(language, "–"), name
    older = rows.assign(environment=json.dumps(constructed.MACHINE), runtime=None)
    here = exhibits.TABLES["tcp_setup"](Analysis(older)).frame.set_index("Item")["This machine"]
    assert here["JVM"] == "not recorded"
    assert here["suite"] == f"not recorded; this table is by {describe_version()}"


def test_no_interval_of_a_positive_quantity_is_negative(observed: pd.DataFrame):
    factors = {block: (0.02, 1, 9, 0.1, 5)[block] for block in range(5)}
    wild = Analysis(observed.assign(value=observed["value"] * observed["block"].map(factors)))
    wide = 0
    for name in exhibits.FIGURES:
        frame = EXHIBITS[name](wild).frame
        is_signed = frame["unit"].eq("KB") | (name == "drivers_fig4_memory")
        here = frame[(frame["source"] == "here") & frame["low"].notna() & ~is_signed]
        assert (here["low"] >= 0).all() and (here["low"] <= here["value"]).all(), name
        assert (here.loc[here["unit"] == "%", "high"] <= 100).all(), name
        wide += int((here["high"] > 2 * here["value"]).sum())
    assert wide > 50, "linear intervals would have gone below 0"


@pytest.mark.parametrize("name", ["bookstore_ratios", "tcp_ratios"])
def test_a_papers_ratio_stands_once_in_its_own_language(
    name: str, committed_exhibits: dict[str, Exhibit]
):
    frame = committed_exhibits[name].frame
    published = frame[frame["source"] == "published"]
    assert len(published) and not published.duplicated(["panel", "level"]).any()
    pythons = {"bookstore_ratios": "Python", "tcp_ratios": "XML / JSON"}[name]
    assert pythons in {*frame["series"]} - {*published["series"]}


def test_what_a_paper_prints_is_drawn_in_black(committed_exhibits: dict[str, Exhibit]):
    hollow = 0
    for name in ("bookstore_case1", "bookstore_ratios", "tcp_fig5_both", "crud_single"):
        for axes in draw_exhibit(committed_exhibits[name]).axes:
            printed = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
            assert {line.get_color() for line in printed} <= {style.INK}, name
            hollow += len(printed)
    assert hollow > 50


def test_no_two_networks_of_a_figure_look_alike(committed_exhibits: dict[str, Exhibit]):
    networks = set[str]()
    for name in IN_NETWORKS:
        frame = committed_exhibits[name].frame
        assert frame is not None
        series = {*frame["series"].dropna()}
        assert len({*map(style.get_series_style, series)}) == len(series), name
        networks |= series
    assert len(networks) > 1


@pytest.mark.parametrize("topology", ["single", "replicated"])
def test_a_grid_has_the_points_of_the_papers_figures(
    topology: str, committed_exhibits: dict[str, Exhibit]
):
    grid = committed_exhibits[f"crud_{topology}"].frame
    figures = [
        name for name in committed_exhibits if re.fullmatch(f"crud_fig._[a-z]+_{topology}", name)
    ]
    assert len(figures) == {"single": 4, "replicated": 3}[topology]
    for name in figures:
        frame = committed_exhibits[name].frame
        of_grid = grid[grid["panel"] == name.split("_")[2]].reset_index(drop=True)
        assert [*of_grid["series"]] == [*frame["panel"]]
        pd.testing.assert_frame_equal(
            of_grid.drop(columns=["panel", "series"]), frame.drop(columns=["panel", "series"])
        )


def test_the_loop_without_a_database_is_written_and_not_on_the_scale(
    committed_exhibits: dict[str, Exhibit],
):
    exhibit = committed_exhibits["crud_fig2_insert_single"]
    loop = exhibit.frame[exhibit.frame["level"] == name_database("noop")].iloc[0]
    axes = draw_exhibit(exhibit).axes[0]
    assert axes.get_xlim()[0] > 10 * loop["value"]
    written, _, _ = number_format.format_parts(loop["value"], loop["low"], loop["high"])
    assert [text.get_text() for text in axes.texts] == [written]


def test_published_values_are_drawn_as_printed(drawn):
    frame = drawn("crud_fig2_insert_single")[0].frame
    couch = frame[(frame["level"] == "CouchDB") & (frame["panel"] == "n = 1,000")].iloc[0]
    assert (couch["source"], couch["value"], couch["printed"]) == ("published", 1.39, "1.39 *")


def test_a_size_that_a_grid_adds_is_drawn_in_its_place(observed):
    crud = observed[(observed["study"] == "crud") & (observed["n"] == 1000)]
    added = pd.concat([observed, crud.assign(n=5000, cell_id=crud["cell_id"] + "5")])
    exhibit = exhibits.FIGURES["crud_fig2_insert_single"](Analysis(added))
    titles = [axes.get_title(loc="left").partition("\n")[0] for axes in draw_exhibit(exhibit).axes]
    assert [title for title in titles if title] == [
        "n = 1,000",
        "n = 5,000",
        "n = 10,000",
        "n = 100,000",
    ]


def test_every_table_can_be_set_with_a_size_of_no_paper(observed):
    other = Analysis(observed.assign(n=7))
    for name, make in exhibits.TABLES.items():
        made = make(other)
        assert len(made.frame) or made.notes, name


@pytest.mark.parametrize(
    ("study", "of", "table"), [("bookstore", 1000, "table_case1"), ("drivers", 1000, "pairs")]
)
def test_a_size_that_a_grid_adds_has_a_tick_and_a_row(study, of, table, observed):
    rows = observed[(observed["study"] == study) & (observed["n"] == of)]
    added = Analysis(pd.concat([observed, rows.assign(n=5000, cell_id=rows["cell_id"] + "5")]))
    frame = exhibits.TABLES[f"{study}_{table}"](added).frame
    row = frame[frame.eq("5,000").any(axis=1)].iloc[0]
    assert not row.filter(like="here").eq("not run").all()
    name = {"bookstore": "bookstore_case1", "drivers": "drivers_fig2_time"}[study]
    axes = draw_exhibit(exhibits.FIGURES[name](added)).axes[-1]
    assert "5k" in {label.get_text() for label in axes.get_xticklabels()}


def test_one_block_has_no_interval_and_says_so():
    exhibit = exhibits.FIGURES["crud_fig2_insert_single"](
        Analysis(constructed.observations(("crud",), blocks=1))
    )
    assert exhibit.frame.query("source == 'here'")["low"].isna().all()
    assert "here: 1 block (an interval needs 5)" in exhibit.notes


@pytest.mark.parametrize(("name", "value"), [("timed_out", True), ("noisy", True), ("value", 0.0)])
def test_every_exhibit_can_be_made_without_a_ratio(observed, name: str, value: object):
    nothing = Analysis(observed.assign(**{name: value}))
    for each in EXHIBITS:
        assert exhibits.make_exhibit(nothing, each).title, each


@pytest.mark.parametrize("study", STUDIES)
def test_every_headline_is_a_claim_that_has_a_verdict(study: str):
    judged = {claim.id for claim in claim_files.load_claims(study) if not claim.fact}
    assert exhibits.HEADLINES[study].claim in judged


def test_the_overview_names_the_studies_that_did_not_run():
    assert "not run in this profile: crud" in exhibits.FIGURES["overview"](without("crud")).notes


def test_an_overview_without_comparisons_says_how_many_blocks_it_needs():
    (note,) = exhibits.FIGURES["overview"](Analysis(constructed.observations((), blocks=1))).notes
    assert note == "nothing compared yet: an interval needs 5 blocks"


def test_missing_levels_are_named(drawn):
    notes = drawn("crud_fig2_insert_single")[0].notes
    assert "not run in this profile: n = 10,000; n = 100,000" in notes


def test_timed_out_values_are_marked(observed):
    marked = observed.assign(
        timed_out=observed["database"].eq("mongodb") & observed["topology"].eq("replicated"),
    )
    analysis = Analysis(marked)
    exhibit = exhibits.FIGURES["crud_fig3_insert_replicated"](analysis)
    mine = exhibit.frame[exhibit.frame["source"] == "here"].set_index("level")
    assert mine["timed_out"].to_dict() == {
        "MongoDB": True,
        "PostgreSQL (tables)": False,
        "PostgreSQL (JSONB)": False,
    }
    assert any("ran out" in note for note in exhibit.notes)
    table = exhibits.TABLES["crud_table3_insert_replicated"](analysis).frame.set_index("Database")
    assert table.loc["MongoDB", "n = 1,000, here"].startswith("> ")


def another(
    observed: pd.DataFrame, database: str, of: str, version: str, factor: float = 1.0, **columns
) -> pd.DataFrame:
    """Return the rows of a database as if another had given them, `factor` times as slow."""
    rows = observed[observed["database"] == of]
    return rows.assign(
        database=database,
        database_version=version,
        cell_id=rows["cell_id"] + database,
        cell_database=rows["cell_database"].replace(of, database),
        value=rows["value"] * factor,
        **columns,
    )


@pytest.fixture(scope="module")
def with_others(observed: pd.DataFrame) -> Analysis:
    """What was observed, and CouchDB and SQL Server, whose server was not checked."""
    couchdb = another(observed, "couchdb", "mongodb", "3.5.0", 3)
    sql_server = another(observed, "sqlserver+relational", "postgresql+relational", "16.0", 2)
    return Analysis(pd.concat([observed, couchdb, sql_server], ignore_index=True))


@pytest.mark.parametrize(
    "name",
    [
        "crud_table1_versions",
        "crud_table2_insert_single",
        "crud_table3_insert_replicated",
        "crud_setup",
    ],
)
def test_a_plug_ins_adapter_that_was_not_checked_is_marked_at_its_numbers(name, with_others):
    exhibit = exhibits.TABLES[name](with_others)
    caveat = "SQL Server is not checked on its server (benchbook servers check sqlserver)"
    assert caveat in exhibit.notes
    row = exhibit.frame[exhibit.frame.iloc[:, 0] == "SQL Server"].astype(str)
    assert row.map(lambda text: "not checked" in text).any(axis=None)


def test_a_plug_ins_adapter_that_was_checked_is_not_marked(with_others):
    checked = Analysis(with_others.means.assign(checked="2026-11-30"))
    exhibit = exhibits.TABLES["crud_table2_insert_single"](checked)
    assert "SQL Server" in set(exhibit.frame.iloc[:, 0])
    assert "not checked" not in f"{exhibit.notes} {exhibit.frame.to_string()}"


def test_each_database_is_divided_by_mongodb(with_others):
    frame = exhibits.FIGURES["crud_ratios_databases"](with_others).frame
    mine = frame[(frame["source"] == "here") & (frame["panel"] == "insert, single")].set_index(
        "level"
    )
    assert mine.loc["CouchDB", "value"] == pytest.approx(3, rel=1e-6), (
        "compared as MongoDB over CouchDB"
    )
    assert mine.loc["SQL Server", "value"] == pytest.approx(
        2 * mine.loc["PostgreSQL (tables)", "value"], rel=1e-6
    )
    spread = mine.dropna(subset=["low"])
    assert len(spread) == 4
    assert (spread["low"] <= spread["value"]).all() and (spread["value"] <= spread["high"]).all()
    theirs = frame[
        (frame["source"] == "published") & (frame["panel"] == "insert, single")
    ].set_index("level")
    assert theirs.loc["CouchDB", "value"] == pytest.approx(1.39 / 54.9)


@pytest.fixture(scope="module")
def on_two_stacks() -> Analysis:
    return Analysis(constructed.on_two_stacks())


@pytest.mark.parametrize(
    "name", ["bookstore_case1", "tcp_fig3_json", "tcp_fig5_both", "drivers_fig2_time"]
)
def test_each_language_has_its_panels_and_the_papers_numbers_stand_in_its_own(name, on_two_stacks):
    frame = exhibits.FIGURES[name](on_two_stacks).frame
    language = constructed.STACKS[name.partition("_")[0]][2]
    for printed, sources in (("Python", {"here"}), (language, {"here", "published"})):
        drawn = frame[frame["panel"].str.endswith(printed)]
        assert set(drawn["source"]) == sources
    if name in ("bookstore_case1", "drivers_fig2_time"):
        mine = frame[(frame["source"] == "here") & ~frame["panel"].str.startswith("size")]
        python, other = (
            mine.loc[mine["panel"].str.endswith(one), "value"].to_numpy()
            for one in ("Python", language)
        )
        np.testing.assert_allclose(other, 2 * python)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("bookstore_table_case1", "XML time (µs)"),
        ("tcp_table3_scenario2_time", "XML"),
        ("tcp_table6_overview", "XML"),
        ("tcp_table7_samples", "XML"),
    ],
)
def test_another_language_has_its_own_column_in_the_papers_tables(
    name, column, on_two_stacks, drawn
):
    frame = exhibits.TABLES[name](on_two_stacks).frame
    alone = drawn(name)[0].frame
    assert frame[f"{column}, Python, here"].tolist() == alone[f"{column}, here"].tolist()
    assert frame[f"{column}, Java, here"].tolist() != alone[f"{column}, here"].tolist()


RATIOS = {
    "bookstore": {"Python", "Java"},
    "tcp": {"XML / JSON", "XML (JAXB) / JSON (Jackson)"},
    "drivers": {"mongoengine / pymongo", "Mongoose / MongoClient"},
}
"""The series of each study's ratios, in Python and in its other language."""


@pytest.mark.parametrize("study", constructed.STACKS)
def test_ratios_are_drawn_for_each_language(study, on_two_stacks):
    frame = exhibits.FIGURES[f"{study}_ratios"](on_two_stacks).frame
    assert set(frame["series"]) == RATIOS[study]


def test_libraries_are_divided_by_the_fastest_one(on_two_stacks):
    exhibit = exhibits.FIGURES["bookstore_libraries"](on_two_stacks)
    first = exhibit.frame[exhibit.frame["panel"] == "case 1"].set_index("level")["value"]
    assert first["orjson, Python"] == 1.0
    assert first["Jackson, Java"] == pytest.approx(2.0)
    assert first["JAXB, Java"] == pytest.approx(2 * first["lxml, Python"])
    assert any("the slowest JSON library took 2.00 times" in note for note in exhibit.notes)


def test_arm_b_of_an_aa_check_is_not_drawn(observed, drawn):
    crud = observed.query("study == 'crud'")
    twin = crud.assign(arm="b", cell_id=crud["cell_id"] + "b", value=crud["value"] * 100)
    both = pd.concat([observed, twin], ignore_index=True)
    name = "crud_fig2_insert_single"
    pd.testing.assert_frame_equal(
        exhibits.FIGURES[name](Analysis(both)).frame, drawn(name)[0].frame
    )


def test_a_variant_is_not_mixed_with_the_papers_levels(observed, drawn):
    strict = observed.query("study == 'crud'").assign(
        cell_id=lambda table: table["cell_id"] + "x",
        durability="strict",
        value=lambda table: table["value"] * 100,
    )
    both = pd.concat([observed, strict], ignore_index=True)
    name = "crud_fig2_insert_single"
    pd.testing.assert_frame_equal(
        exhibits.FIGURES[name](Analysis(both)).frame, drawn(name)[0].frame
    )
    alone = exhibits.FIGURES[name](Analysis(strict))
    assert "here durability = strict, not default" in alone.notes


@pytest.mark.parametrize("name", ["crud_fig2_insert_single", "crud_ratios_databases"])
def test_databases_that_share_a_process_are_not_mixed_with_single_ones(observed, name):
    rows = observed[observed["study"] == "crud"]
    two = rows[rows["database"].isin(["mongodb", "postgresql+relational"])]
    pair = "mongodb/postgresql+relational"
    in_turn = two.assign(
        cell_database=pair, cell_id="pair" + two["topology"], value=two["value"] * 10
    )
    both = pd.concat([rows, in_turn], ignore_index=True)
    frames = [exhibits.make_exhibit(Analysis(some), name).frame for some in (rows, both)]
    pd.testing.assert_frame_equal(*frames)
    assert (
        f"here database in turn = {pair}, not alone"
        in exhibits.make_exhibit(Analysis(in_turn), name).notes
    )


def test_averages_leave_out_blocks_with_missing_levels():
    rows = pd.DataFrame({"number": [0, 0, 1, 1, 2], "n": [2000, 4000, 2000, 4000, 2000]})
    rows = rows.assign(
        machine_day="a day", noisy=False, timed_out=False, time=[1.0, 3.0, 3.0, 13.0, 100.0]
    )
    drawn = points.make_measured_points(rows, "time", unit="s", over="n", level="x")
    assert (drawn["value"].item(), drawn["blocks"].item()) == (pytest.approx(4.0), 2)


def as_quick_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return replication's rows of profile quick: MongoDB in a network and on the loopback."""
    rows = rows[rows["study"] == "replication"]
    parts = []
    sizes = (("mongodb", "none", 500), ("mongodb", "none", 2000), ("mongodb", "lan-100m", 2000))
    sizes = (
        *sizes,
        ("mongodb", "lan-100m", 4000),
        ("couchdb", "none", 2000),
        ("couchdb", "none", 4000),
    )
    for number, (database, network, n) in enumerate(sizes):
        part = rows[rows["database"] == "mongodb"]
        as_run = {"database": database, "cell_database": database, "network": network, "n": n}
        value = part["value"] * (1 + number / 10)
        identity = part["cell_id"] + str(number)
        parts.append(part.assign(**as_run, value=value, cell_id=identity))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("run", ["quick", "reference"])
def test_replication_averages_the_networks_and_sizes_of_its_claims(
    runs: dict[str, Analysis], run: str
):
    analysis = runs[run]
    measured = analysis.studies["replication"]
    compared = 0
    for figure, part in replication.NODE_FIGURES.items():
        drawn = replication.draw_averages(analysis, number=figure).frame
        here = drawn[drawn["source"] == "here"].set_index(["level", "series"])["value"]
        claims = [
            claim for claim in claim_files.load_claims("replication") if isinstance(claim, Judged)
        ]
        for claim, role in product(claims, ("primary", "replica")):
            if claim.quantity.metric != part.metric or role not in claim.each.get(
                "role", ["replica"]
            ):
                continue
            wanted = build_term_settings(claim, {"role": role})
            for side in measured.choose_means("python", wanted, claim.pooled).values():
                database, model = (
                    products.name_database(str(side.settings["database"])),
                    name_level("model", side.settings["model"]),
                )
                days = measured.machine_days[side.blocks]
                compute = compute_share_interval if part.unit == "%" else compute_geometric_interval
                expected = compute(side.values, days).estimate
                assert here[f"{database}, {role}", model] == pytest.approx(expected)
                compared += 1
    assert compared > 20


def test_replications_titles_name_the_network_and_the_sizes(runs: dict[str, Analysis]):
    quick = replication.draw_averages(runs["quick"], number=15)
    title = (
        "MongoDB: 100 Mbit/s, mean over n = 2,000, 4,000; CouchDB: loopback, mean over n = 2,000, "
        "4,000"
    )
    assert quick.title.endswith(title)
    assert "MongoDB: the paper's mean is over n = 6,000, 8,000, 10,000, too" in quick.notes
    reference = replication.draw_averages(runs["reference"], number=15)
    assert reference.title.endswith("; 100 Mbit/s, mean over n = 2,000 to 10,000")


@pytest.fixture(scope="module")
def runs(observed, on_two_stacks: Analysis, committed: Analysis) -> dict[str, Analysis]:
    """Return the reference run and constructed ones: of profile quick and in two languages."""
    return {
        "reference": committed,
        "quick": Analysis(as_quick_runs(observed)),
        "two languages": on_two_stacks,
    }


@pytest.mark.parametrize("run", ["reference", "quick", "two languages"])
def test_no_two_comparisons_have_one_label(runs: dict[str, Analysis], run: str):
    label = ["language", "operation", "role", "metric", "a", "b", "label"]
    tables = Comparison.to_frame(runs[run].tables)
    assert len(tables) and not tables.duplicated(["study", "name", *label]).any()


@pytest.mark.parametrize("run", ["reference", "quick", "two languages"])
def test_each_comparison_of_a_claim_has_its_own_key_and_each_verdict_that_of_its_headline(
    runs: dict[str, Analysis], run: str
):
    by_key = {row.key: row for row in runs[run].comparisons}
    assert len(by_key) == len(runs[run].comparisons)
    for verdict in runs[run].verdicts:
        headline = by_key[verdict.headline_key]
        assert (headline.name, headline.language) == (verdict.id, verdict.language)
        assert str(headline.estimate) == str(verdict.estimate)


@pytest.mark.parametrize("run", ["reference", "quick", "two languages"])
def test_no_two_rows_of_a_figures_panel_or_of_a_table_have_one_label(
    runs: dict[str, Analysis], run: str, committed_exhibits: dict[str, Exhibit]
):
    for name, maker in EXHIBITS.items():
        made = committed_exhibits[name] if run == "reference" else maker(runs[run])
        frame = made.frame
        if name in exhibits.TABLES:
            own = [
                column
                for column in frame
                if not re.search("here|published|yes|nearest", str(column), re.IGNORECASE)
            ]
            assert not frame.duplicated(own).any(), name
        else:
            assert not frame.duplicated(["panel", "level", "series", "source"]).any(), name


def test_every_ratio_figure_names_what_it_divides(committed_exhibits: dict[str, Exhibit]):
    for name in exhibits.FIGURES:
        drawing = committed_exhibits[name].drawing
        if (
            isinstance(drawing, Dots)
            and drawing.reference is not None
            and name != "bookstore_libraries"
        ):
            assert " / " in drawing.axis, name


def test_published_numbers_have_commas_like_measured_ones():
    texts = ("4546694.78", "5516.20 *", "530.1", "-1000", "2008 R2", "")
    separated = ["4,546,694.78", "5,516.20 *", "530.1", "-1,000", "2008 R2", ""]
    assert [exhibit.group_digits(text) for text in texts] == separated
    frame = EXHIBITS["tcp_table1_scenario1_time"](Analysis(constructed.observations(()))).frame
    assert not frame.astype(str).stack().str.contains(r"\d{4}").any()


def test_a_signed_number_is_not_quoted_as_a_formula():
    for text in ("+137 (+136 to +139) MB", "-5 (-9 to +2) KB", "+4.10 KB", "-1.5"):
        assert quote_formula(text) == text
    assert quote_formula("=1+1") == "'=1+1" and quote_formula("+A1 (2 to 3)") == "'+A1 (2 to 3)"


def test_each_figure_has_a_file_with_its_provenance(drawn):
    (about,) = (path for path in drawn("replication_fig15_bandwidth")[1] if path.suffix == ".json")
    about = json.loads(about.read_text())
    assert about["profile"] == "night"
    assert about["host_cpu"] == "Test CPU 9000"
    assert about["database_versions"]["mongodb"] == "6.0.5"
    assert about["measured"] == ["2026-01-02", "2026-01-02"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00601, "0.00601"),
        (1.0, "1.00"),
        (-12.34, "-12.3"),
        (1804.4, "1,804"),
        (float("nan"), "–"),
    ],
)
def test_numbers_have_three_digits_and_no_powers_of_ten(value, text):
    assert number_format.format_number(value) == text


def test_ticks_have_short_labels():
    for low, high in ((0.8, 3.1), (1, 40), (0.1, 2e5), (1e-4, 1e9), (24_000, 31_000)):
        ticks = list_log_ticks(low, high)
        assert 2 <= len(ticks) <= 10
        assert all(low <= tick <= high for tick in ticks)
    assert [number_format.format_tick(tick) for tick in (0.01, 10, 1000, 200_000, 1e6)] == [
        "0.01",
        "10",
        "1k",
        "200k",
        "1M",
    ]


@pytest.mark.parametrize("all_of_them", [True, False])
def test_repetitions_without_a_finite_value_are_left_out(all_of_them: bool):
    window = {"row": "receive", "side": "JSON", "source": "here"}
    rows = [{"panel": "ms", "value": value, **window} for value in (1.0, 2.0, 3.0)]
    shares = (np.nan, np.inf, np.inf if all_of_them else 50.0)
    rows += [{"panel": "CPU, %", "value": value, **window} for value in shares]
    _, share, _ = draw_repetitions(pd.DataFrame(rows), in_order=True).axes
    assert [text.get_text() for text in share.texts] == ["not measured"] * all_of_them
    assert sum(len(dots.get_offsets()) for dots in share.collections) == (not all_of_them)
