"""Verdicts of the reference run, computed anew from its block means by the rules of docs/method.md, in plain numpy.

The judge has no part in it: rows are chosen from the Parquet file, and means, intervals and verdicts made by hand.
"""

import itertools
import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from benchbook import paths, studies
from benchbook.evidence.runs import Run

REFERENCE = paths.reference()

LOOKS = {5: 3.72, 8: 3.58, 12: 3.16, 20: 2.75, 30: 2.59}
EXCEEDED = {units: 2 * stats.t.sf(reach, units - 1) for units, reach in LOOKS.items()}
OF_A_ROW = ("format", "driver", "codec")
OF_NO_SIDE = ("lane", "repetitions", "seed")
CODECS = {"json_codec": ("orjson", "jackson"), "xml_codec": ("lxml", "jaxb")}
PARTS = {"cpu_time": ["cpu_user", "cpu_system"]}
KINDS = {"wall_time": "time", "cpu_time": "processor time", "size": "bytes"}
DECIDED = {"reproduced", "direction only", "equivalent", "contradicted"}

CLAIMS = (
    *(f"bookstore.{name}.xml-slower" for name in ("marshal", "unmarshal", "round-trip")),
    *("bookstore.round-trip.xml-more-cpu", "bookstore.cause.compactness"),
    *("bookstore.authors.xml-more-than-doubles", "bookstore.authors.json-below-half"),
    *("drivers.insert.time.mapper-more", "drivers.find.time.mapper-more", "drivers.insert.cpu.mapper-more"),
    *("drivers.find.cpu.mapper-more", "drivers.update.time.alike", "drivers.delete.time.alike"),
    *("drivers.insert.time.native-indifferent-to-record", "drivers.find.time.mapper-follows-record"),
    *("drivers.insert.time.mapper-falls-with-small-records", "drivers.insert.cpu.mapper-falls-with-small-records"),
    *("drivers.find.time.mapper-rises", "drivers.overall.time.native-indifferent-to-record"),
    "drivers.overall.time.mapper-follows-record",
)


@pytest.fixture(scope="module")
def means() -> pd.DataFrame:
    """The block means of first arms that no other process disturbed; sizes are counted, whatever else runs."""
    table = pd.read_parquet(REFERENCE / "block_means.parquet")
    table = table[~table["disturbed"].astype(bool) | table["metric"].eq("size")]
    return table[table["arm"].eq("a") & ~table["parameters"].str.contains('"arm": "b"', regex=False)]


@pytest.fixture(scope="module")
def run() -> Run:
    """What the judge says of the same."""
    return Run.of_reference()


@pytest.fixture(scope="module")
def printed() -> dict[tuple[str, str, str], float]:
    """The papers' own ratios, by claim, lane and contrast."""
    table = pd.read_csv(REFERENCE / "contrasts.csv", keep_default_na=False, na_values=[""])
    return table.fillna({"contrast": ""}).set_index(["id", "lane", "contrast"])["published"].to_dict()


def logs(rows: pd.DataFrame, wanted: dict[str, Any], asked: dict[str, Any]) -> pd.DataFrame:
    """Return a side's logarithms with campaign, block and cell: its levels as asked, all else at its default."""
    fields = studies.load(rows["study"].iloc[0]).Parameters.model_fields
    chosen = []
    for row in rows.to_dict("records"):
        given = {**json.loads(row["parameters"]), **{name: row[name] for name in OF_A_ROW if name in wanted}}
        named = all(
            given.get(name) in (level if isinstance(level, list) else [level]) for name, level in wanted.items()
        )
        others = {name for name in given if name in fields} - {*asked, *OF_A_ROW, *OF_NO_SIDE, *CODECS}
        usual = all(given[name] == fields[name].default for name in others)
        usual = usual and ("codec" in asked or all(given.get(name, CODECS[name][0]) in CODECS[name] for name in CODECS))
        if named and usual:
            chosen.append((row["campaign"], row["block"], row["cell_id"], row["value"]))
    parts = pd.DataFrame(chosen, columns=["campaign", "block", "cell", "log"])
    return np.log(parts.groupby(["campaign", "block", "cell"]).sum()).reset_index()


def units(rows: pd.DataFrame, claim: dict[str, Any], level: dict[str, Any]) -> np.ndarray:
    """Return the logarithms of a contrast's ratio, one a unit: of campaigns from five on, else of blocks."""
    common = {**claim["at"], **level}
    for name in ("operation", "role"):
        rows = rows[rows[name] == common.pop(name, claim["quantity"].get(name))]
    if "over" in claim:
        ((factor, ends),) = claim["over"].items()
        sides = [{**common, **claim.get("a", {}), factor: end} for end in (ends[-1], ends[0])]
    else:
        sides = [{**common, **claim[name]} for name in ("a", "b")]
    asked = {name: None for side in sides for name in side}
    a, b = (logs(rows, side, asked) for side in sides)
    differ = {name for name in asked if sides[0].get(name) != sides[1].get(name)}
    in_turn = {"format", "codec", "driver"} & differ == differ
    both = a.merge(b, on=["campaign", "block", *(["cell"] if in_turn else [])])
    log = both["log_x"] - both["log_y"] - np.log(claim.get("than", 1))
    by_campaign = log.groupby(both["campaign"]).mean()
    return (by_campaign if len(by_campaign) >= 5 else log).to_numpy()


def judged(low: float, high: float, claimed: str, margin: float, size: float) -> str:
    if claimed == "equal":
        outside = low > margin or high < 1 / margin
        return "reproduced" if 1 / margin <= low and high <= margin else "contradicted" if outside else "inconclusive"
    if claimed == "less":
        low, high, size = 1 / high, 1 / low, 1 / size
    if low > margin:
        return "reproduced" if np.isnan(size) or (size / 1.25 <= low and high <= size * 1.25) else "direction only"
    if 1 / margin <= low and high <= margin:
        return "equivalent"
    if low > 1:
        return "direction only"
    return "contradicted" if high < 1 / margin else "other way" if high < 1 else "inconclusive"


def at_looks(
    values: np.ndarray, claim: dict[str, Any], margin: float, size: float, errors: tuple[float, ...], bias: float
) -> str:
    """Return the verdict of the first look that decides, else of the last; the second error is of speaking against."""
    verdict = ""
    for look in [look for look in LOOKS if look <= len(values)]:
        first = values[:look]
        for alpha in errors:
            share = 1 if alpha == 0.05 else alpha / sum(EXCEEDED.values())
            reach = stats.t.isf(share * EXCEEDED[look] / 2, look - 1) * first.std(ddof=1) / np.sqrt(look)
            low, high = np.exp(first.mean() - reach), np.exp(first.mean() + reach)
            verdict = judged(low, high, claim["claimed"], margin, size)
            if verdict not in ("contradicted", "other way"):
                break
        if verdict in DECIDED:
            break
    directed = verdict in ("reproduced", "direction only", "contradicted", "other way")
    return "inconclusive" if directed and abs(first.mean()) < np.log(bias) else verdict


def together(verdicts: list[str], of_most: list[str]) -> str:
    counts, most, n = Counter(verdicts), Counter(of_most), len(verdicts)
    if counts["contradicted"]:
        return "contradicted"
    if alike := [verdict for verdict in ("reproduced", "equivalent") if counts[verdict] == n]:
        return alike[0]
    if counts["reproduced"] + counts["direction only"] == n:
        return "direction only"
    if counts["other way"]:
        return "other way"
    if most["reproduced"] + most["direction only"] > n / 2:
        return "reproduced in part" if most["reproduced"] > n / 2 else "direction only"
    return "inconclusive"


@pytest.mark.parametrize("name", CLAIMS)
def test_a_verdict_follows_from_the_method_by_hand(
    name: str, means: pd.DataFrame, run: Run, printed: dict[tuple[str, str, str], float]
) -> None:
    study = name.partition(".")[0]
    file = yaml.safe_load((paths.claims() / f"{study}.yaml").read_text(encoding="utf-8"))
    (claim,) = [claim for claim in file["claims"] if claim["id"] == name]
    outcome = run.evidence.outcomes.set_index("id").loc[name]
    margin = claim["margin"] if isinstance(claim["margin"], float) else file["margins"][claim["margin"]][0]
    quantity, lane = claim["quantity"], outcome["lane"]
    rows = means[(means["study"] == study) & (means["lane"] == lane)]
    rows = rows[rows["metric"].isin(PARTS.get(quantity["metric"], [quantity["metric"]]))]
    control = run.evidence.controls.query("study == @study and kind == @KINDS[@quantity['metric']]")
    bias = float(np.nan_to_num(control["detectable"].max(), nan=1.0))
    contrasts, published = {}, {}
    for chosen in itertools.product(*claim.get("each", {}).values()):
        level = dict(zip(claim.get("each", {}), chosen, strict=True))
        values = units(rows, claim, level)
        if len(values) >= 5:
            label = ", ".join(f"{key}={value}" for key, value in level.items())
            contrasts[label] = values
            published[label] = np.nan if "than" in claim else printed[name, lane, label]
    n = len(contrasts)
    in_most = 0.05 / (n - n // 2)
    found: dict[tuple[float, ...], dict[str, str]] = {}
    for errors in ((0.05, 0.05 / n), (in_most,)):
        found[errors] = {
            label: at_looks(values, claim, margin, published[label], errors, bias)
            for label, values in contrasts.items()
        }
    verdicts, of_most = found.values()
    theirs = run.evidence.contrasts.query("id == @name and lane == @lane and blocks > 0").set_index("contrast")
    assert verdicts == theirs["verdict"].to_dict()
    verdict = together(list(verdicts.values()), list(of_most.values()))
    assert verdict == outcome["verdict"] or (verdict == "contradicted" and outcome["objected"])
