"""What is concluded from observations, on small frames whose answers are known."""

import json
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchbook.analysis.aa_check import compare_arms
from benchbook.analysis.block_means import (
    average_repetitions,
    compute_block_means,
)
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.intervals import compute_interval
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.study_means import StudyMeans
from benchbook.explorer.text import write_result
from benchbook.results.files import build_table, infer_schema
from benchbook.results.schema import METRIC_UNITS, name_parameter_column

CELL = {"host": "h", "language": "python", "arm": "a", "state": "done"}


def rows(
    study: str, values: dict[tuple[str, str, str], list[list[float]]], **columns: Any
) -> list[dict[str, Any]]:
    """Return one cell's observations by (operation, role, metric): blocks of repetitions.

    The columns are its parameters too, except the host's and the runner's.
    """
    parameters = {
        name_parameter_column(name): value
        for name, value in columns.items()
        if name not in ("host", "state")
    }
    fixed = {**CELL, **columns, **parameters, "study": study}
    fixed["cell_id"] = str(hash(json.dumps(parameters, sort_keys=True) + fixed["host"]))
    names = ("operation", "role", "metric")
    fixed |= {"source": "clock", "count": columns.get("n", 1), "timed_out": False}
    rows = []
    for quantity, blocks in values.items():
        of_quantity = fixed | dict(zip(names, quantity, strict=True))
        of_quantity["unit"] = METRIC_UNITS[quantity[2]]
        for block, repetitions in enumerate(blocks):
            for repetition, value in enumerate(repetitions):
                place = {"block": block, "repetition": repetition, "value": value}
                rows.append(of_quantity | place)
    return rows


def observations(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the observations of some cells as they are read from results."""
    frame = pd.DataFrame(rows)
    return build_table(frame, infer_schema(frame)).to_pandas()


def cell(
    study: str, values: dict[tuple[str, str, str], list[list[float]]], **columns: Any
) -> pd.DataFrame:
    """Return one cell's observations."""
    return observations(rows(study, values, **columns))


INSERT = ("insert", "client", "wall_time")


def test_the_unit_of_analysis_is_the_mean_of_a_block():
    means = average_repetitions(cell("crud", {INSERT: [[1, 2, 3], [10, 20]]}, database="mongodb"))
    assert means["value"].tolist() == [2, 15]
    assert means["rows"].tolist() == [3, 2]
    assert means["database"].unique().tolist() == ["mongodb"]


def test_formats_of_one_cell_and_arms_are_kept_apart():
    one = cell("bookstore", {INSERT: [[1, 3]]}).assign(format="json")
    other = cell("bookstore", {INSERT: [[5, 7]]}).assign(format="xml")
    means = average_repetitions(
        pd.concat([one, other, cell("bookstore", {INSERT: [[8, 9]]}, arm="b")])
    )
    assert dict(zip(means["format"].fillna("-") + means["arm"], means["value"], strict=True)) == {
        "jsona": 2,
        "xmla": 6,
        "-b": 8.5,
    }


def test_a_timed_out_repetition_is_never_averaged_as_a_time():
    rows = cell("crud", {INSERT: [[1.0, 600.0], [2.0, 4.0]]})
    rows.loc[1, "timed_out"] = True
    means = average_repetitions(rows)
    assert means["timed_out"].tolist() == [True, False]
    assert np.isnan(means["value"][0])
    assert means["at_least"].tolist() == [300.5, 3]


def test_a_missing_value_marks_its_mean_as_timed_out():
    rows = cell("crud", {INSERT: [[1.0, np.nan]]})
    rows["timed_out"] = rows["value"].isna()
    means = average_repetitions(rows)
    assert means["timed_out"].tolist() == [True]
    assert np.isnan(means["value"][0])


def test_skipped_and_failed_cells_have_no_mean():
    skipped = cell("crud", {INSERT: [[np.nan]]}, state="skipped")
    failed = cell("crud", {INSERT: [[5.0]]}, state="failed")
    assert average_repetitions(pd.concat([skipped, failed])).empty


def test_percentages_are_shares_of_the_machine_s_capacity():
    values = {("receive", "machine", metric): [[value, value]] for metric, value in MACHINE.items()}
    found = compute_block_means(cell("tcp", values, n=100)).set_index("metric")["value"]
    assert found["cpu_user_percent"] == pytest.approx(30)
    assert found["cpu_system_percent"] == pytest.approx(5)
    assert found["cpu_percent"] == pytest.approx(35)
    assert found["memory_percent"] == pytest.approx(25)
    assert found["cpu_time"] == pytest.approx(7)


MACHINE = {
    "cpu_user": 6e9,
    "cpu_system": 1e9,
    "cpu_capacity": 20e9,
    "memory_used": 1e9,
    "memory_total": 4e9,
}


def test_a_window_that_its_clock_did_not_see_has_no_shares():
    values = {
        ("receive", "machine", metric): [[0.0]]
        for metric in ("cpu_user", "cpu_system", "cpu_capacity")
    }
    assert (
        not compute_block_means(cell("tcp", values, n=200))["metric"].str.contains("percent").any()
    )


def test_bandwidth_is_the_replica_s_bits_over_the_client_s_elapsed_time():
    values = {
        ("insert", "replica", "bytes_received"): [[1e6]],
        ("insert", "client", "elapsed_time"): [[4e9]],
    }
    found = compute_block_means(cell("replication", values, n=2000)).set_index("metric")
    assert found["value"]["bandwidth"] == pytest.approx(2000)  # 8e6 bits in 4 s
    assert (found["unit"]["bandwidth"], found["role"]["bandwidth"]) == ("Kbps", "replica")


def test_a_rate_over_a_timed_out_wait_is_timed_out_and_without_a_bound():
    values = {
        ("insert", "replica", "bytes_received"): [[1e6]],
        ("insert", "client", "elapsed_time"): [[4e9]],
    }
    rows = cell("replication", values)
    rows.loc[rows["metric"] == "elapsed_time", "timed_out"] = True
    found = compute_block_means(rows).set_index("metric").loc["bandwidth"]
    assert found["timed_out"]
    assert np.isnan(found["value"]) and np.isnan(found["at_least"])


def test_nothing_is_derived_from_parts_that_are_missing():
    found = compute_block_means(cell("crud", {INSERT: [[5e6]]}, n=5))
    assert found.set_index("metric")["value"].to_dict() == {"wall_time": 5e6, "time_per_item": 1.0}


def make_observations(
    study: str, quantity: tuple[str, str, str], blocks: list[float], **columns: Any
) -> pd.DataFrame:
    """Return one cell's observations with one repetition a block."""
    return cell(study, {quantity: [[value] for value in blocks]}, **columns)


def compare_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons of the papers' tables as a frame."""
    return Comparison.to_frame(compare_tables(compute_block_means(rows)))


def only(table: pd.DataFrame, **wanted: Any) -> pd.Series:
    for column, value in wanted.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.iloc[0]


ROUND_TRIP = ("round_trip", "client", "wall_time")


def bookstore(json_times: list[float], xml_times: list[float], **columns: Any) -> pd.DataFrame:
    common = {
        "case": 1,
        "process": "together",
        "n": 1000,
        "json_codec": "orjson",
        "xml_codec": "lxml",
    } | columns
    json_rows = make_observations("bookstore", ROUND_TRIP, json_times, **common).assign(
        format="json", codec="orjson"
    )
    xml_rows = make_observations("bookstore", ROUND_TRIP, xml_times, **common).assign(
        format="xml", codec="lxml"
    )
    return pd.concat([json_rows, xml_rows])


CRUD = {
    "n": 1000,
    "calls": "single",
    "comments_per_article": "all",
    "constraints": "on",
    "durability": "default",
}
ELAPSED = ("insert", "client", "elapsed_time")
RECEIVE = ("receive", "server", "wall_time")


def test_formats_of_one_cell_are_paired_by_block():
    found = only(
        compare_rows(bookstore([100, 200, 400, 100, 50], [402, 796, 1608, 405, 201])),
        metric="wall_time",
    )
    logs = np.log([4.02, 3.98, 4.02, 4.05, 4.02])
    interval = compute_interval(logs, ["day"] * 5)
    assert (found["estimate"], found["low"], found["high"]) == pytest.approx(
        tuple(np.exp([logs.mean(), interval.low, interval.high]))
    )
    assert (found["a"], found["b"], found["blocks"], found["machine_days"]) == ("XML", "JSON", 5, 1)
    assert (
        found["label"]
        == "language=python, case=1, process=together, n=1000, xml_codec=lxml, json_codec=orjson"
    )
    assert found["published"] == pytest.approx(7850 / 2080)
    assert (
        write_result(Comparison(**found.to_dict()))
        == "XML took 4.02 (3.92 to 4.12) times as long as JSON, in 5 blocks of 1 machine-day; "
        "from the paper's times: 3.77 (Case 1 table)."
    )


def test_sizes_are_compared_exactly_and_without_a_test():
    sizes = ("marshal", "client", "size")
    common = {"case": 1, "process": "together", "n": 10}
    rows = [
        make_observations("bookstore", sizes, [value] * 5, **common).assign(format=name)
        for name, value in (("json", 200), ("xml", 300))
    ]
    found = only(compare_rows(pd.concat(rows)), metric="size")
    assert (found["estimate"], found["low"], found["high"]) == pytest.approx((1.5, 1.5, 1.5))
    assert np.isnan(found["p"]) and found["published"] == 2


def test_fewer_than_five_blocks_give_a_ratio_but_no_interval_and_no_test():
    found = compare_rows(bookstore([100] * 4, [300] * 4)).iloc[0]
    assert found["estimate"] == pytest.approx(3)
    assert np.isnan([found["p"], found["low"]]).all()
    assert found["reason"] == "4 of the 5 blocks that an interval needs"


def test_a_comparison_is_of_the_blocks_that_both_sides_have():
    times = {"pymongo": [1.0, 2.0, 3.0, 99.0], "mongoengine": [99.0, 4.0, 6.3, 9.9]}
    a, b = (
        make_observations("drivers", INSERT, values, driver=driver, n=10)
        for driver, values in times.items()
    )
    found = only(
        compare_rows(pd.concat([a[a["block"] < 3], b[b["block"] > 0]])), metric="wall_time"
    )
    assert (found["blocks"], found["estimate"]) == (2, pytest.approx((2 * 2.1) ** 0.5))


def test_a_block_that_other_programs_noisy_is_left_out_and_counted():
    rows = bookstore([100.0] * 6, [400, 401, 399, 400, 402, 9000])
    rows["noisy"] = rows["block"] == 5
    found = only(compare_rows(rows), metric="wall_time")
    assert (found["blocks"], found["noisy"]) == (5, 1) and found["high"] < 4.1


def test_a_comparison_of_which_every_block_was_noisy_says_so():
    found = only(
        compare_rows(bookstore([100.0] * 3, [400.0] * 3).assign(noisy=True)), metric="wall_time"
    )
    assert (found["blocks"], found["reason"]) == (0, "other programs disturbed all 3 blocks")
    assert (
        found["noisy_estimate"] == pytest.approx(4)
        and np.isnan([found["estimate"], found["low"]]).all()
    )


def test_a_noisy_block_that_only_one_side_has_does_not_count():
    rows = bookstore([100.0] * 4, [400.0] * 4)
    apart = rows[(rows["block"] < 2) == (rows["format"] == "json")]
    found = only(compare_rows(apart.assign(noisy=apart["block"] == 0)), metric="wall_time")
    assert (found["noisy"], found["reason"]) == (0, "no block has all sides")


def test_a_ratio_of_noisy_blocks_takes_the_blocks_of_both_sides_and_a_quiet_one_makes_it_needless():
    rows = bookstore([100.0] * 3, [400.0] * 3)
    # each side is quiet in another block: none is quiet on both
    halves = rows.assign(noisy=(rows["block"] > 0) == (rows["format"] == "json"))
    found = only(compare_rows(halves), metric="wall_time")
    assert (found["blocks"], found["noisy_estimate"]) == (0, pytest.approx(4))
    found = only(compare_rows(rows.assign(noisy=rows["block"] > 0)), metric="wall_time")
    assert (found["blocks"], found["estimate"]) == (1, pytest.approx(4)) and np.isnan(
        found["noisy_estimate"]
    )


def test_memory_that_was_freed_is_compared_as_a_difference():
    memory = ("insert", "client", "memory_change")
    a = make_observations("drivers", memory, [-2000, 5000, 9000, 0, 100], driver="pymongo", n=10)
    b = make_observations(
        "drivers", memory, [1000, 7500, 12500, 3000, 3100], driver="mongoengine", n=10
    )
    found = only(compare_rows(pd.concat([a, b])), metric="memory_change_kb")
    assert (found["kind"], found["unit"]) == ("difference", "KB")
    assert found["estimate"] == pytest.approx(3)
    assert found["low"] < 3 < found["high"]
    assert (found["mean_a"], found["mean_b"]) == pytest.approx((5.42, 2.42))


def test_a_missing_side_is_told():
    found = compare_rows(make_observations("drivers", INSERT, [1, 2], driver="pymongo", n=10)).iloc[
        0
    ]
    assert (found["a"], found["b"], found["reason"]) == (
        "mongoengine",
        "pymongo",
        "mongoengine did not run here",
    )
    assert found["blocks"] == 0


def test_a_wait_that_ran_out_gives_neither_time_nor_ratio():
    single = make_observations(
        "crud", INSERT, [10, 11, 12], database="mongodb", topology="single", **CRUD
    )
    waited = make_observations(
        "crud", ELAPSED, [30, 600, 31], database="mongodb", topology="replicated", **CRUD
    )
    waited["timed_out"] = waited["value"] == 600
    found = only(compare_rows(pd.concat([single, waited])))
    assert found["timed_out"] and np.isnan([found["estimate"], found["p"]]).all()
    assert found["reason"] == "a wait for the replica ran out in 1 block"


def test_what_differs_in_another_parameter_is_not_compared():
    rows = [
        make_observations("drivers", INSERT, [1, 2], driver="pymongo", n=10),
        make_observations("drivers", INSERT, [3, 4], driver="mongoengine", n=20),
    ]
    assert set(compare_rows(pd.concat(rows))["reason"]) == {
        "mongoengine did not run here",
        "pymongo did not run here",
    }


def test_machines_are_pooled_and_no_block_of_one_is_compared_with_another_s():
    rows = [
        make_observations("drivers", INSERT, [1, 2], driver="pymongo", n=10, repetitions=5),
        make_observations("drivers", INSERT, [3, 5], driver="mongoengine", n=10, repetitions=1),
        make_observations(
            "drivers", INSERT, [9, 9.5], driver="mongoengine", n=10, repetitions=1, host="other"
        ),
    ]
    found = only(compare_rows(pd.concat(rows)), metric="wall_time")
    assert (found["estimate"], found["blocks"]) == (pytest.approx(np.sqrt(7.5)), 2)
    both = pd.concat(
        [*rows, make_observations("drivers", INSERT, [2, 4], driver="pymongo", n=10, host="other")]
    )
    found = only(compare_rows(both), metric="wall_time")
    assert (found["blocks"], found["machine_days"]) == (4, 2)


def test_blocks_of_one_date_are_a_machine_day_and_midnight_does_not_split_a_block():
    times = [
        f"2026-01-0{day}T{time}Z"
        for day, time in ((1, "08:00"), (1, "20:00"), (2, "23:59"), (3, "08:00"))
    ]
    a, b = (
        make_observations("drivers", INSERT, [1.0, 2, 3, 4], driver=driver, n=10).assign(
            started_at=pd.to_datetime(times)
        )
        for driver in ("pymongo", "mongoengine")
    )
    b["started_at"] += pd.Timedelta(minutes=5)  # the third block's begins after midnight
    means = compute_block_means(pd.concat([a, b]))
    assert sorted(means["machine_day"].unique()) == ["h 2026-01-01", "h 2026-01-02", "h 2026-01-03"]
    found = only(Comparison.to_frame(compare_tables(means)), metric="wall_time")
    assert (found["blocks"], found["machine_days"]) == (4, 3)


def test_cells_of_a_block_that_ran_hours_apart_are_of_two_passes_and_not_compared():
    a, b = (
        make_observations("drivers", INSERT, [1.0], driver=driver, n=10)
        for driver in ("pymongo", "mongoengine")
    )
    a["started_at"], b["started_at"] = (
        pd.Timestamp(f"2026-01-01T{hour}:00Z") for hour in ("08", "12")
    )
    assert (
        only(compare_rows(pd.concat([a, b])), metric="wall_time")["reason"]
        == "no block has all sides"
    )


def test_holm_corrects_over_a_study_and_no_further():
    random = np.random.default_rng(1)
    of_n = [
        bookstore([100.0] * 5, list(102 * k * np.exp(random.normal(0, 0.1, 5))), n=n)
        for n, k in ((10, 1), (100, 2))
    ]
    other = [
        make_observations("drivers", INSERT, values, driver=driver, n=10)
        for driver, values in (("pymongo", [1, 2, 1, 2, 1]), ("mongoengine", [3, 5, 3.1, 5, 3]))
    ]
    table = compare_rows(pd.concat([*of_n, *other]))
    ours = table[table["study"] == "bookstore"]
    assert sorted(ours["p_holm"]) == pytest.approx(
        sorted([2 * min(ours["p"]), max(max(ours["p"]), 2 * min(ours["p"]))])
    )
    driven = only(table[table["study"] == "drivers"], metric="wall_time")
    assert driven["p_holm"] == driven["p"]


def test_adapters_are_compared_in_each_topology_over_the_time_until_the_replica_has_everything():
    rows = [
        make_observations("crud", INSERT, [10, 11], database="mongodb", topology="single", **CRUD),
        make_observations(
            "crud", INSERT, [20, 23], database="postgresql+relational", topology="single", **CRUD
        ),
        make_observations(
            "crud", INSERT, [1, 1.2], database="mongodb", topology="replicated", **CRUD
        ),
        make_observations(
            "crud", ELAPSED, [30, 31], database="mongodb", topology="replicated", **CRUD
        ),
        make_observations(
            "crud",
            ELAPSED,
            [60, 66],
            database="postgresql+relational",
            topology="replicated",
            **CRUD,
        ),
        make_observations("crud", INSERT, [0.1, 0.1], database="noop", topology="single", **CRUD),
    ]
    rows[3] = rows[3].assign(cell_id=rows[2]["cell_id"].iloc[0])
    table = compare_rows(pd.concat(rows))
    single = table[table["label"].str.contains("topology=single")]
    assert single[["a", "b"]].values.tolist() == [["PostgreSQL (tables)", "MongoDB"]]
    assert single["published"].iloc[0] == pytest.approx(80.9 / 54.9)
    replicated = only(table[table["label"].str.contains("topology=replicated")])
    assert replicated["estimate"] == pytest.approx(np.sqrt(2 * 66 / 31))
    assert replicated["published"] == pytest.approx(111.2 / 86.7)
    against_itself = table[table["name"] == "replicated against single"].set_index("label")
    assert len(against_itself) == 2
    assert against_itself.filter(like="mongodb", axis=0)["estimate"].iloc[0] == pytest.approx(
        np.sqrt(3 * 31 / 11)
    )
    assert against_itself.filter(like="mongodb", axis=0)["published"].iloc[0] == pytest.approx(
        86.7 / 54.9
    )


def test_replication_compares_xml_with_json_on_both_nodes():
    common = {"database": "mongodb", "topology": "replicated", "n": 2000, "durability": "default"}
    rows = []
    for model, factor in (("document", 1.0), ("xml_text", 1.2)):
        values = {
            ("insert", "replica", "bytes_received"): [[1e6 * factor], [1.1e6 * factor]],
            ("insert", "client", "elapsed_time"): [[1e9], [1.1e9]],
            ("insert", "primary", "memory_rss"): [[2**20 * factor], [2**21 * factor]],
        }
        rows.append(
            cell("replication", values, model=model, **common).assign(
                format="xml" if "xml" in model else "json"
            )
        )
    table = compare_rows(pd.concat(rows)).set_index("metric")
    assert table.loc["bandwidth", "estimate"] == pytest.approx(1.2)
    assert table.loc["bandwidth", "published"] == pytest.approx(1828.4 / 1738.8)
    assert table.loc["memory_rss_mb", "published_source"] == "Fig. 17, average"
    assert set(table["a"]) == {"XML (text)"} and set(table["b"]) == {"JSON (document)"}


def test_no_observations_make_no_comparison():
    nothing = bookstore([1], [2]).iloc[:0]
    assert compare_rows(nothing).empty
    assert compare_arms(compute_block_means(nothing)) == []


def test_comparisons_with_the_same_label_show_every_setting_in_which_they_differ():
    about = {"database": "mongodb", "topology": "replicated", "durability": "default"}
    models = (("document", 1.0), ("xml_fields", 2.0))
    settings = (
        (1, "apart", "none"),
        (1, "together", "none"),
        (2, "apart", "none"),
        (1, "apart", "lan"),
    )
    rows = [
        make_observations(
            "replication",
            ELAPSED,
            [factor, factor * 1.1],
            model=model,
            n=n,
            process=process,
            network=network,
            **about,
        )
        for (model, factor), (n, process, network) in product(models, settings)
    ]
    assert sorted(compare_rows(pd.concat(rows))["label"]) == [
        "database=mongodb, topology=replicated, n=1, durability=default, network=lan",
        "database=mongodb, topology=replicated, n=1, durability=default, process=apart",
        "database=mongodb, topology=replicated, n=1, durability=default, process=together",
        "database=mongodb, topology=replicated, n=2, durability=default, process=apart",
    ]


def test_a_codec_that_cells_do_not_name_is_not_stated_as_missing_in_them():
    about = {"language": "java", "process": "apart", "n": 1, "json_codec": "jackson"}
    rows = [
        make_observations(
            "tcp", RECEIVE, [1, 2], format="json", codec="jackson", xml_codec="xmldecoder", **about
        ),
        make_observations(
            "tcp", RECEIVE, [1, 2], format="json", codec="jackson", xml_codec="jaxb", **about
        ),
        make_observations(
            "tcp", RECEIVE, [9, 9.5], format="xml", codec="jaxb", xml_codec="jaxb", **about
        ),
    ]
    table = compare_rows(pd.concat(rows)).query("metric == 'wall_time'")
    found = table.set_index("a")["reason"].to_dict()
    assert found == {
        "XML (JAXB)": "2 of the 5 blocks that an interval needs",
        "XML (XMLDecoder)": "XML (XMLDecoder) did not run here",
    }


def pair(
    pymongo: list[float], mongoengine: list[float], arm: str = "a", of: str = "a"
) -> pd.DataFrame:
    """Return the rows of an arm of a cell in which driver and mapper take turns."""
    about = {"process": "together", "driver": "pymongo+mongoengine", "n": 10, "arm": of}
    one, two = (
        cell("drivers", {INSERT: [[value] for value in values]}, **about)
        for values in (pymongo, mongoengine)
    )
    return pd.concat(
        [one.assign(driver="pymongo", arm=arm), two.assign(driver="mongoengine", arm=arm)]
    )


def test_arms_that_took_turns_in_one_cell_are_the_sides_of_a_claim_and_from_one_cell():
    apart = [
        cell("drivers", {INSERT: [[10.0], [20.0]]}, driver=driver, n=10, process="apart")
        for driver in ("pymongo", "mongoengine")
    ]
    rows = pd.concat([*apart, pair([1.0, 2.0], [3.0, 8.0])])
    means = compute_block_means(rows)
    assert set(zip(means["driver"], means["value"], strict=True)) >= {
        ("pymongo", 1.0),
        ("mongoengine", 8.0),
    }
    quantity = dict(zip(("operation", "role", "metric"), INSERT, strict=True))
    wanted = {
        side: {**quantity, "driver": driver}
        for side, driver in (("a", "mongoengine"), ("b", "pymongo"))
    }
    sides = StudyMeans("drivers", means).choose_means("python", wanted)
    assert sides["a"].values == pytest.approx([3, 8])
    assert sides["b"].values == pytest.approx([1, 2])
    found = compare_rows(rows).query("metric == 'wall_time'")
    assert sorted(found["estimate"]) == pytest.approx([1.0, 12**0.5])


def test_every_level_is_compared_on_its_own():
    generator = np.random.default_rng(1)
    rows = [
        bookstore(list(generator.lognormal(0, 0.1, 6)), list(generator.lognormal(1, 0.1, 6)), n=n)
        for n in range(1, 31)
    ]
    assert sorted(compare_rows(pd.concat(rows))["n"]) == list(range(1, 31))
