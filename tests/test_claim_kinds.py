"""What a claim may ask beside a ratio of means: bounds, means over several sizes, spreads, lanes, any difference."""

import json
from collections.abc import Iterable
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter, ValidationError

from benchbook import evidence
from benchbook.evidence.claim_files import check
from benchbook.evidence.claims import LANES, Claim
from benchbook.evidence.judge import NOT_TESTABLE, Effect, judge
from benchbook.evidence.measured import Measured
from benchbook.results import OBSERVATIONS, typed
from benchbook.studies import drivers, tcp

BLOCKS = 8
TIME = {"operation": "insert", "role": "client", "metric": "wall_time"}
MEMORY = {"operation": "update", "role": "client", "metric": "memory_change_kb"}


def claim(**parts: Any) -> Claim:
    common = {"id": "drivers.it", "says": "It is so.", "where": "Section 4", "quantity": TIME, "why_margin": "so"}
    return TypeAdapter(Claim).validate_python({**common, "margin": 1.05, **parts}, strict=False)


def ran(values: Iterable[Iterable[float]], *, quantity: dict[str, str] = TIME, **columns: Any) -> pd.DataFrame:
    """Return one cell's observations: values by block and repetition."""
    about = {"driver": "pymongo", "attributes": 89, "n": 1000, "lane": "python", "arm": "a", **columns}
    metric = {"memory_change_kb": "memory_change"}.get(quantity["metric"], quantity["metric"])
    rows = [
        {
            **{name: about[name] for name in ("lane", "arm", "driver", "n")},
            **{"study": "drivers", "host": "h", "state": "done", "censored": False, "count": 1},
            **{"cell_id": json.dumps(about), "parameters": json.dumps(about), "block": block, "repetition": repetition},
            **{"operation": quantity["operation"], "role": "client", "metric": metric, "value": float(value)},
            "unit": "ns" if metric == "wall_time" else "B",
        }
        for block, repetitions in enumerate(values)
        for repetition, value in enumerate(repetitions)
    ]
    table: pd.DataFrame = typed(pd.DataFrame(rows), OBSERVATIONS).to_pandas()
    return table


def judged(stated: Claim, *rows: pd.DataFrame) -> pd.DataFrame:
    return evidence.judged(evidence.measures(pd.concat(rows)), [stated])


def around(mean: float, spread: float = 0.01, repetitions: int = 4, seed: int = 1) -> list[list[float]]:
    """Return values by block and repetition about a mean, with that standard deviation relative to it."""
    noise = np.random.Generator(np.random.PCG64(seed)).standard_normal((BLOCKS, repetitions))
    values: list[list[float]] = (mean * (1 + spread * noise)).tolist()
    return values


@pytest.mark.parametrize(
    ("bounds", "milliseconds", "expected"),
    [
        ({"below": 5}, 3000, "reproduced"),
        ({"below": 5}, 5000, "equivalent"),
        ({"below": 5}, 8000, "contradicted"),
        ({"above": 5}, 8000, "reproduced"),
        ({"above": 5}, 3000, "contradicted"),
        ({"above": 70, "below": 80}, 75_000, "reproduced"),
        ({"above": 70, "below": 80}, 60_000, "contradicted"),
        ({"above": 70, "below": 80}, 90_000, "contradicted"),
    ],
)
def test_a_bound_is_held_against_the_time_here_in_its_own_unit(
    bounds: dict[str, float], milliseconds: float, expected: str
) -> None:
    found = judged(claim(compare="bound", unit="s", **bounds), ran(around(milliseconds * 1e6)))
    assert found["verdict"].tolist() == [expected], found["why"].iloc[0]
    assert found["claimed"].iloc[0].endswith("s, here")
    held = " and ".join(map(str, bounds.values()))
    assert f"times {'the middle of ' if len(bounds) == 2 else ''}{held} s in 5 blocks" in found["why"].iloc[0]


@pytest.mark.parametrize(
    ("kilobytes", "expected"), [(-100.0, {"direction only", "reproduced"}), (3000.0, {"contradicted"})]
)
def test_a_bound_on_memory_that_may_be_given_back_is_judged_by_the_difference_from_it(
    kilobytes: float, expected: set[str]
) -> None:
    stated = claim(compare="bound", quantity=MEMORY, below=1000, unit="KB")
    values = around(kilobytes * 1e3)
    values[0] = [-1e3] * 4  # no logarithm, and so no ratio
    (found,) = judged(stated, ran(values, quantity=MEMORY)).to_dict("records")
    assert found["ratio"] != found["ratio"]
    assert found["verdict"] in expected, found["why"]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"unit": "s"}, "above or below"),
        ({"unit": "s", "above": 5, "below": 5}, "above or below"),
        ({"unit": "s", "above": 6, "below": 5}, "above or below"),
        ({"unit": "MB", "below": 5}, "no MB is a number of ns"),
        ({"unit": "s", "below": 5, "statistic": "variation"}, "no s is a number of %"),
        ({"unit": "s", "below": 5, "each": {"metric": ["wall_time", "cpu_time"]}}, "the quantity's own metric"),
    ],
)
def test_a_bound_without_sense_is_refused(parts: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        claim(compare="bound", **parts)


def test_a_pooled_side_is_the_mean_over_the_levels_in_the_blocks_that_have_all_of_them() -> None:
    small, large = ran([[10.0]] * BLOCKS, n=1000), ran([[50.0]] * BLOCKS, n=10000)
    mapper = [
        ran([[20.0]] * BLOCKS, n=1000, driver="mongoengine"),
        ran([[70.0]] * BLOCKS, n=10000, driver="mongoengine"),
    ]
    large = large[large["block"] != 3]
    measured = Measured("drivers", evidence.measures(pd.concat([small, large, *mapper])))
    wanted = {name: {**TIME, "driver": driver} for name, driver in (("a", "mongoengine"), ("b", "pymongo"))}
    sides = measured.sides(("h", "python"), wanted, over={"n": (1000, 10000)})
    assert sides["a"].values == pytest.approx([45.0] * BLOCKS)
    assert sides["b"].values == pytest.approx([30.0] * (BLOCKS - 1))
    assert 3 not in sides["b"].blocks
    assert len(measured.parts(("h", "python"), wanted, over={"n": (1000, 10000)})["a"]) == 2
    assert measured.sides(("h", "python"), wanted, over={"n": (1000, 200000)}) == {}, "a level never ran"


def test_a_claim_on_the_mean_over_sizes_is_judged_on_that_mean() -> None:
    """Twice as long at the small size, as long at the large one, which the mean is made of."""
    rows = [
        ran(around(2e6), driver="mongoengine"),
        ran(around(1e6), driver="pymongo"),
        ran(around(1e9), driver="mongoengine", n=10000),
        ran(around(1e9), driver="pymongo", n=10000),
    ]
    sides = {"a": {"driver": "mongoengine"}, "b": {"driver": "pymongo"}}
    stated = claim(compare="ratio", claimed="equal", pooled={"n": [1000, 10000]}, **sides)
    assert judged(stated, *rows)["verdict"].tolist() == ["reproduced"]
    apart = claim(compare="ratio", claimed="equal", each={"n": [1000, 10000]}, **sides)
    assert judged(apart, *rows)["verdict"].tolist() == ["contradicted", "reproduced"]
    five = claim(compare="ratio", claimed="equal", pooled={"n": [1000, 10000, 100000, 200000]}, **sides)
    (partly,) = judged(five, *rows).to_dict("records")
    assert partly["verdict"] == "reproduced" and partly["common"] == "mean over n=1000 and 10000"
    assert "over n=1000 and 10000, where the paper's mean is over 4 of them" in partly["why"]
    (one,) = judged(five, *rows[:2]).to_dict("records")
    assert one["verdict"] == "not testable here", "a mean is over two sizes at least"
    with pytest.raises(ValidationError, match="pooled: n is named in at or each, too"):
        claim(compare="ratio", claimed="equal", pooled={"n": [1000, 10000]}, at={"n": 1000}, **sides)


@pytest.mark.parametrize("statistic", ["deviation", "variation"])
def test_a_spread_is_that_of_the_repetitions_inside_a_block(statistic: str) -> None:
    rows = [ran(around(1e6, 0.2, 10), driver="mongoengine"), ran(around(1e6, 0.02, 10, seed=2), driver="pymongo")]
    parts = {"compare": "ratio", "a": {"driver": "mongoengine"}, "b": {"driver": "pymongo"}}
    (found,) = judged(claim(**parts, statistic=statistic, claimed="more"), *rows).to_dict("records")
    assert found["verdict"] == "reproduced"
    assert 5 < found["ratio"] < 20
    values = np.array(around(1e6, 0.2, 10)[0])
    means = evidence.measures(rows[0])
    assert means.loc[means["block"] == 0, "deviation"].iloc[0] == pytest.approx(values.std(ddof=1))
    assert judged(claim(**parts, claimed="equal"), *rows)["verdict"].iloc[0] != "contradicted", "the means are alike"


def test_a_derived_quantity_has_a_spread_where_it_only_changes_the_unit() -> None:
    values = around(5e6, 0.3)
    rows = [ran(values, quantity=MEMORY), ran(values, quantity={**TIME, "operation": "update"})]
    means = evidence.measures(pd.concat(rows)).set_index(["metric", "block"])["deviation"]
    assert means["memory_change_kb", 0] == pytest.approx(np.std(values[0], ddof=1) / 1e3)
    assert np.isnan(means["time_per_item", 0]), "a quotient's spread is not that of its dividend"
    with pytest.raises(ValueError, match="variation: not known of time_per_item, which is derived from several"):
        check(
            claim(
                compare="bound", statistic="variation", above=10, unit="%", quantity=TIME | {"metric": "time_per_item"}
            )
        )


@pytest.mark.parametrize(("percent", "expected"), [(10, "reproduced"), (40, "contradicted")])
def test_a_spread_may_have_a_bound_of_its_own(percent: float, expected: str) -> None:
    stated = claim(compare="bound", statistic="variation", above=percent, unit="%")
    assert judged(stated, ran(around(1e6, 0.2, 10)))["verdict"].tolist() == [expected]


def test_a_block_of_one_repetition_has_no_spread() -> None:
    rows = [ran(around(1e6, 0.2, 1), driver="mongoengine"), ran(around(1e6, 0.2, 1), driver="pymongo")]
    sides = {"a": {"driver": "mongoengine"}, "b": {"driver": "pymongo"}}
    found = judged(claim(compare="ratio", claimed="more", statistic="variation", **sides), *rows)
    assert set(found["verdict"]) == {NOT_TESTABLE}


@pytest.mark.parametrize(
    ("low", "ratio", "high", "expected"),
    [
        (1.2, 1.3, 1.4, "reproduced"),
        (0.7, 0.75, 0.8, "reproduced"),
        (0.97, 1.0, 1.03, "equivalent"),
        (0.8, 1.0, 1.3, "inconclusive"),
        (0.7, 0.85, 0.98, "direction only"),
    ],
)
def test_a_difference_of_no_stated_direction_may_have_either(
    low: float, ratio: float, high: float, expected: str
) -> None:
    assert judge(Effect(ratio, low, high), "different", 1.1) == expected


def test_a_claim_is_asked_of_its_lanes_alone_and_of_a_lanes_own_codecs_and_drivers() -> None:
    rows = [
        ran(around(1e6), lane="python", driver="pymongo"),
        ran(around(1e6), lane="node", driver="mongoclient"),
    ]
    parts = {"compare": "bound", "below": 1, "unit": "s"}
    assert sorted(judged(claim(**parts), *rows)["lane"]) == ["node", "python"]
    assert judged(claim(**parts, lanes=["node"]), *rows)["lane"].tolist() == ["node"]
    both = judged(claim(**parts, each={"driver": ["pymongo", "mongoclient"]}), *rows)
    assert dict(zip(both["lane"], both["contrast"], strict=True)) == {
        "node": "driver=mongoclient",
        "python": "driver=pymongo",
    }
    assert NOT_TESTABLE not in set(both["verdict"])


def test_the_lanes_of_codecs_and_drivers_are_those_of_the_studies() -> None:
    assert {name for name, lane in LANES.items() if lane == "node"} == set(drivers.NODE)
    assert {name for name, lane in LANES.items() if lane == "java"} >= set(tcp.JAVA)
    codecs = {
        codec
        for name in ("json_codec", "xml_codec")
        for codec in get_args(tcp.Parameters.model_fields[name].annotation)
    }
    assert not (codecs - set(tcp.JAVA)) & set(LANES)
    assert set(tcp.JAVA) <= codecs


def test_a_product_is_not_called_missing_for_the_want_of_the_one_that_it_is_held_against() -> None:
    """MongoDB ran, CouchDB did not: nothing can be judged, and that is CouchDB's lack alone."""
    stated = TypeAdapter(Claim).validate_python(
        {
            **{"id": "crud.it", "says": "It is so.", "where": "conclusion", "why_margin": "so", "margin": 1.1},
            **{"compare": "ratio", "claimed": "less", "quantity": TIME, "a": {"engine": "couchdb"}, "b": {}},
            **{"each": {"engine": ["mongodb", "postgresql+relational"]}, "most": True},
        },
        strict=False,
    )
    rows = ran(around(1e6), engine="mongodb", topology="single").assign(study="crud", engine="mongodb")
    found = evidence.judged(evidence.measures(rows), [stated])
    (verdict,) = evidence.verdicts(found, [stated]).to_dict("records")
    assert verdict["verdict"] == NOT_TESTABLE
    assert found["lacking"].tolist() == [{"mongodb": ""}, {"postgresql+relational": "did not run"}]
    assert "CouchDB did not run" in verdict["why"]


def test_time_and_memory_are_set_side_by_side_though_no_process_is_measured_in_both() -> None:
    stated = claim(
        compare="interaction",
        claimed="less",
        a={"driver": "mongoengine"},
        b={"driver": "pymongo"},
        over={"metric": ["wall_time", "memory_change_kb"]},
        at={"operation": "insert"},
    )
    size = {**TIME, "metric": "memory_change_kb"}
    rows = [
        *(
            ran(around(value), driver=driver, process="together")
            for driver, value in (("mongoengine", 6e6), ("pymongo", 1e6))
        ),
        *(
            ran(around(value), driver=driver, process="operation", quantity=size)
            for driver, value in (("mongoengine", 2e6), ("pymongo", 1e6))
        ),
    ]
    (found,) = judged(stated, *rows).to_dict("records")
    assert found["verdict"] == "reproduced", found["why"]
    assert found["ratio"] == pytest.approx(1 / 3, rel=0.05)
