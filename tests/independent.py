"""The reference run's claims computed once more, in plain numpy, from docs/method.md alone: read the two side by side.

Nothing of `benchbook` is imported. Block means are those of figures/reference, claims and printed numbers of data/.
What stands in quotation marks are points and headings of docs/method.md.
"""

import csv
import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import optimize, stats

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "figures" / "reference"
Levels = dict[str, Any]
Block = tuple[str, int]  # its campaign and number
Beside = tuple[tuple[str, Any], ...]
Side = dict[Block, tuple[float, float, bool]]  # mean, its counters' resolution, whether it was disturbed

# "Which rows stand": of several levels of a parameter that a claim does not name, the first of these
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "process": ("together",),
    "room": ("none",),
    "keys": ("paper",),
    "batch": ("all",),
    "binding": ("once",),
    "sink": ("file",),
    "held_mb": (0,),
    "constraints": ("on",),
    "binary_log": ("needed",),
    "document_schema": ("required",),
    "json_codec": ("orjson", "jackson"),
    "xml_codec": ("lxml", "jaxb"),
}
OF_OTHER_LANES = {
    "python": {"mongoclient", "mongoose", "jaxb", "jackson", "xmldecoder"},
    "node": {"pymongo", "mongoengine"},
    "java": {"lxml", "orjson"},
}
COUNTED = {"size", "markup_size", "bytes_received", "card_bytes_sent", "card_bytes_received"}  # whatever else runs
UNITS = {"ms": 1e6, "s": 1e9, "MB": 1e3, "%": 0.01}

# "Five looks"
LOOKS = {5: 3.72, 8: 3.58, 12: 3.16, 20: 2.75, 30: 2.59}
EXCEEDED = {units: 2 * stats.t.sf(t, units - 1) for units, t in LOOKS.items()}
EXPERIMENTAL = {"couchbase", "sqlserver", "arangodb"}  # adapters that have not met the product

HOLDS, AGAINST, OPEN = ("reproduced", "direction only"), ("contradicted", "other way"), ("inconclusive", "other way")

# "Identical arms"
KINDS = {
    "time": ("wall_time", "elapsed_time"),
    "processor time": ("cpu_time",),
    "memory": ("memory_change_kb", "memory_rss_mb", "memory_percent"),
    "bytes": ("size", "bytes_received", "card_bytes_sent", "card_bytes_received"),
}


# ---- what was measured


@dataclass
class Cell:
    """What a process measured in a block of one operation on one side."""

    host: str
    study: str
    lane: str
    arm: str
    at: Levels
    block: Block
    supports_verdicts: bool
    means: dict[tuple[str, str], Levels] = field(default_factory=dict)  # by role and metric
    disturbed: bool = False


def cells() -> list[Cell]:
    """Return all cells, those of experimental adapters among them, which support no verdict."""
    found: dict[tuple[Any, ...], Cell] = {}
    named = ["operation", "format", "codec", "driver", "model", "engine"]
    columns = ["host", "study", "lane", "arm", "cell_id", "campaign", "block", "parameters"]
    columns += ["disturbed", "role", "metric", "value", "deviation", "resolution", "measured"]
    table = pd.read_parquet(REFERENCE / "block_means.parquet", columns=columns + named)
    parameters = {text: json.loads(text) for text in table["parameters"].unique()}
    table["judged"] = ~table["engine"].str.split("[@+]", regex=True).str[0].isin(EXPERIMENTAL)
    for row in table.to_dict("records"):
        side = {name: row[name] for name in named if isinstance(row[name], str)}
        key = (row["host"], row["cell_id"], row["campaign"], row["block"], row["arm"], *side.values())
        if key not in found:
            at = {"room": "none"} | parameters[row["parameters"]] | side
            block = (row["campaign"], row["block"])
            found[key] = Cell(*(row[name] for name in columns[:4]), at, block, row["judged"])
        found[key].means[row["role"], row["metric"]] = row
        found[key].disturbed |= row["disturbed"]
    return list(found.values())


def quantity(cell: Cell, role: str, metric: str, statistic: str | None = None) -> np.ndarray | None:
    """Return a mean with its counters' resolution, or nothing where the cell has none: "Quantities made of others"."""

    def mean(name: str, of: str = role) -> np.ndarray:
        row = cell.means[of, name]
        if not statistic:
            return np.array([row["value"], row["resolution"]])
        if row["measured"] < 10:  # no verdict rests on such a spread
            raise KeyError
        return np.array([row["deviation"], 0])

    if statistic == "variation":
        spread, whole = quantity(cell, role, metric, "deviation"), quantity(cell, role, metric)
        return None if spread is None or whole is None or whole[0] <= 0 else np.array([spread[0] / whole[0], 0])

    def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        return np.array([part[0] / whole[0], (part[1] + part[0] / whole[0] * whole[1]) / whole[0]])

    def cpu_time() -> np.ndarray:
        return mean("cpu_total") if (role, "cpu_total") in cell.means else mean("cpu_user") + mean("cpu_system")

    def received() -> np.ndarray:
        at_the_card = (role, "card_bytes_received") in cell.means
        return mean("card_bytes_received" if at_the_card else "bytes_received")

    derived = {
        "elapsed_time": lambda: mean("elapsed_time" if (role, "elapsed_time") in cell.means else "wall_time"),
        "time_per_item": lambda: mean("wall_time") / cell.at["n"],
        "cpu_time": cpu_time,
        "cpu_percent": lambda: 100 * share(cpu_time(), mean("cpu_capacity")),
        "cpu_user_percent": lambda: 100 * share(mean("cpu_user"), mean("cpu_capacity")),
        "cpu_system_percent": lambda: 100 * share(mean("cpu_system"), mean("cpu_capacity")),
        "memory_percent": lambda: 100 * share(mean("memory_used"), mean("memory_total")),
        "memory_change_kb": lambda: mean("memory_change") / 1e3,
        "memory_rss_mb": lambda: mean("memory_rss") / 1e6,
        "bandwidth": lambda: share(received(), mean("elapsed_time", "client")),
    }
    try:
        return derived[metric]() if metric in derived else mean(metric)
    except KeyError:
        return None


class Run:
    """The cells of a host that claims read: second arms are controls."""

    def __init__(self, all_cells: list[Cell]) -> None:
        self.cells: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
        self.engines: dict[tuple[str, str], set[str | None]] = defaultdict(set)
        for cell in all_cells:
            if cell.arm == cell.at["arm"] == "a" and cell.supports_verdicts:
                self.cells[cell.study, cell.lane, cell.at["operation"], cell.at["n"]].append(cell)
                self.engines[cell.study, cell.lane].add(cell.at.get("engine"))
        self.side = cache(self._side)

    def _side(
        self, study: str, lane: str, statistic: str | None, levels: tuple[tuple[str, Any], ...], beside: Beside
    ) -> tuple[Side, Beside]:
        """Return a side's blocks, and the levels where a claim names none: if it can be, of the side beside."""
        at = dict(levels)
        role, metric = at.pop("role"), at.pop("metric")
        there = self.cells[study, lane, at.pop("operation"), at.pop("n")]
        there = [cell for cell in there if all(cell.at.get(name) == level for name, level in at.items())]
        measured = [(cell, mean) for cell in there if (mean := quantity(cell, role, metric, statistic)) is not None]
        stand = []
        for name, defaults in DEFAULTS.items():
            ran = {cell.at.get(name) for cell, _ in measured}
            wanted = [level for key, level in beside if key == name]
            stands = next((level for level in (*wanted, *defaults, *ran) if level in ran), None)
            measured = [(cell, mean) for cell, mean in measured if cell.at.get(name) == stands]
            stand.append((name, stands))
        side = {cell.block: (*mean, cell.disturbed and metric not in COUNTED) for cell, mean in measured}
        assert len(side) == len(measured), f"two cells of a block stand for {levels}"
        return side, tuple(stand)


# ---- what a claim contrasts


def contrasts(claim: Levels, lane: str) -> Iterator[Levels]:
    each = claim.get("each", {})
    levels = [[level for level in each[name] if level not in OF_OTHER_LANES[lane]] for name in each]
    for picked in itertools.product(*levels):
        yield dict(zip(each, picked, strict=True))


def products(claim: Levels, at: Levels, ranked: Collection[Any] | None = None) -> list[list[tuple[int, Levels]]]:
    """Return a contrast as a product of sides with their powers; a ranking as the leads above 1 if it is true.

    A ranking's are of those ranked; of all levels by default.
    """
    base = claim["quantity"] | claim["at"] | at
    a, b = base | claim.get("a", {}), base | claim.get("b", {})
    if claim["compare"] == "rank":
        ((name, levels),) = claim["among"].items()
        ranked, claimed = levels if ranked is None else ranked, claim["claimed"]
        if "order" in claimed:
            pairs = [(b, a) for a, b in itertools.pairwise(level for level in claimed["order"] if level in ranked)]
        else:
            ((end, named),) = claimed.items()
            others = [level for level in levels if level in ranked and level != named and named in ranked]
            pairs = [(named, level) if end == "last" else (level, named) for level in others]
        return [[(1, base | {name: more}), (-1, base | {name: less})] for more, less in pairs]
    if claim["compare"] == "bound":
        return [[(1, base)]]
    if claim["compare"] == "ratio":
        return [[(1, a), (-1, b)]]
    ((name, (first, last)),) = claim["over"].items()
    if claim["compare"] == "trend":
        return [[(1, a | {name: last}), (-1, a | {name: first})]]
    return [[(1, a | {name: last}), (-1, b | {name: last}), (-1, a | {name: first}), (1, b | {name: first})]]


@dataclass
class Row:
    """What all sides of a product are in a block that all have."""

    block: Block
    means: np.ndarray
    disturbed: bool


@dataclass
class Product:
    """A product of sides over a constant: a bound, or by how many times a trend's items grow."""

    powers: np.ndarray
    rows: list[Row]
    resolutions: np.ndarray  # of each side's counters, the coarsest of its blocks
    constant: float

    @cached_property
    def units(self) -> list[list[Row]]:
        """What counts once, of blocks that were not disturbed."""
        return units([(row.block, row) for row in self.rows if not row.disturbed])


def product(run: Run, study: str, lane: str, claim: Levels, factors: list[tuple[int, Levels]]) -> Product | None:
    """Return a product's blocks. Of a list of levels the first that ran stands; one of `at` for all sides alike."""
    sizes = [{name: size} for name, levels in claim.get("pooled", {}).items() for size in levels] or [{}]

    def first_that_ran(at: Levels, beside: Beside) -> tuple[list[Side], Beside]:
        listed = [name for name in at if isinstance(at[name], list)]
        for picked in itertools.product(*(at[name] for name in listed)):
            levels = at | dict(zip(listed, picked, strict=True))
            of_size = [tuple((levels | size).items()) for size in sizes]
            found = [run.side(study, lane, claim.get("statistic"), one, beside) for one in of_size]
            if any(side for side, _ in found):
                return [side for side, _ in found], next(stand for side, stand in found if side)
        return [], beside

    shared = {name: levels for name, levels in claim["at"].items() if isinstance(levels, list)}
    for picked in itertools.product(*shared.values()):
        fixed = dict(zip(shared, picked, strict=True))
        levels = [{name: fixed[name] if at[name] == shared.get(name) else at[name] for name in at} for _, at in factors]
        sides, beside = [], ()
        for at in levels:
            side, stand = first_that_ran(at, beside)
            sides.append(side)
            beside = beside or stand
        # "Mean over several sizes"
        both = [size for size in range(len(sizes)) if all(side and side[size] for side in sides)]
        if len(both) > 1 or (both and len(sizes) == 1):
            rows = []
            for block in sorted(set.intersection(*({*side[size]} for side in sides for size in both))):
                table = np.array([[side[size][block] for size in both] for side in sides])
                rows.append(Row(block, table[..., 0].mean(1), bool(table[..., 2].any())))
            coarsest = [[max(of[1] for of in side[size].values()) for size in both] for side in sides]
            constant = (claim.get("below") or claim.get("above") or 1) * UNITS.get(claim.get("unit", ""), 1)
            if claim.get("per_item"):
                constant = claim["over"]["n"][1] / claim["over"]["n"][0]
            powers = np.array([power for power, _ in factors])
            return Product(powers, rows, np.mean(coarsest, axis=1), constant) if rows else None
    return None


def over_shared_blocks(leads: list[Product]) -> list[Product]:
    """Return a contrast's leads over the blocks that all have; none where these are too few for a first look."""
    shared = set.intersection(*({row.block for row in one.rows if not row.disturbed} for one in leads)) if leads else ()
    leads = [replace(one, rows=[row for row in one.rows if row.block in shared]) for one in leads]
    return leads if all(len(one.units) >= min(LOOKS) for one in leads) else []


# ---- intervals


def units(values: list[tuple[Block, Any]]) -> list[list[Any]]:
    """Return what counts once, with its blocks: from five campaigns on each of them, of fewer each block ("Ratio")."""
    by_campaign = defaultdict(list)
    for (campaign, _), value in sorted(values, key=lambda pair: pair[0]):
        by_campaign[campaign].append(value)
    if len(by_campaign) >= 5:
        return [*by_campaign.values()]
    return [[value] for of_campaign in by_campaign.values() for value in of_campaign]


def t_at(look: int, alpha: float) -> float:
    """Return how many standard errors an interval reaches that misses in a share alpha of cases ("Five looks")."""
    if alpha >= 0.05:
        return LOOKS[look]
    return float(stats.t.isf(alpha / sum(EXCEEDED.values()) * EXCEEDED[look] / 2, look - 1))


@dataclass
class Interval:
    """A ratio's logarithm or, where a mean is zero or negative, a difference."""

    middle: float
    half: float
    is_ratio: bool
    blocks: int

    @property
    def ends(self) -> np.ndarray:
        ends = self.middle + np.array([0, -self.half, self.half])
        return np.exp(ends) if self.is_ratio else ends


def interval(of: Product, look: int | None, alpha: float = 0.05) -> Interval | None:
    """Return the repeated interval at a look of so many units, or the 95 % interval of all; nothing where fewer ran."""
    groups = (of.units or units([(row.block, row) for row in of.rows]))[:look]
    if len(groups) < (look or 2):
        return None
    used = [row for group in groups for row in group]
    means = np.array([row.means for row in used])
    ends = np.cumsum([len(group) for group in groups])

    def of_units(values: np.ndarray) -> np.ndarray:
        return np.array([part.mean(0) for part in np.split(values, ends[:-1])])

    is_ratio = bool((means > 0).all())
    if is_ratio:
        values, constant = np.log(means) @ of.powers, math.log(of.constant)
        counters = (of.resolutions / np.exp(of_units(np.log(means))).mean(0)).sum()
    else:
        values, constant = means @ of.powers, of.constant if len(of.powers) == 1 else 0
        counters = of.resolutions.sum()
    values = of_units(values) - constant
    t = t_at(look, alpha) if look else stats.t.isf(alpha / 2, len(values) - 1)
    half = t * values.std(ddof=1) / math.sqrt(len(values))
    return Interval(values.mean(), max(half, counters), is_ratio, len(used))


# ---- "Identical arms"


Biases = dict[tuple[str, str], float]  # the logarithm of the smallest that would have been found, by study and kind


def arm_pairs(all_cells: list[Cell], files: dict[str, Levels]) -> dict[tuple[str, str], list[dict[Block, float]]]:
    """Return the logarithms of arm b over arm a, by study and kind, of the quantities that it compares."""
    compared = {
        (study, *of)
        for study, file in files.items()
        for comparison in file["comparisons"]
        for named in comparison["quantities"]
        for of in itertools.product(named["operation"], named["role"], named["metric"])
    }

    def key(cell: Cell, arm: str) -> tuple[Any, ...]:
        return (cell.study, arm, *sorted((name, str(level)) for name, level in cell.at.items() if name != "arm"))

    first = {(cell.block, key(cell, cell.at["arm"])): cell for cell in all_cells if cell.arm == "a"}
    pairs: dict[tuple[Any, ...], dict[Block, float]] = defaultdict(dict)
    for cell in all_cells:
        if cell.arm == "a" or cell.at.get("engine") == "noop":
            continue
        # where sides take turns that cell has both arms
        other = first.get((cell.block, key(cell, "b"))) or first.get((cell.block, key(cell, "a")))
        if other is None:
            continue
        for study, operation, role, metric in compared:
            kind = next((kind for kind in KINDS if metric in KINDS[kind]), None)
            disturbed = (cell.disturbed or other.disturbed) and metric not in COUNTED
            if kind and not disturbed and (study, operation) == (cell.study, cell.at["operation"]):
                a, b = quantity(other, role, metric), quantity(cell, role, metric)
                if a is not None and b is not None:
                    log = math.log(b[0] / a[0]) if a[0] > 0 and b[0] > 0 else math.nan
                    pairs[study, kind, role, metric, key(cell, "b")][cell.block] = log
    by_kind = defaultdict(list)
    for (study, kind, *_), logs in pairs.items():
        if not np.isnan([*logs.values()]).any():  # a mean that is zero or negative has no ratio
            by_kind[study, kind].append(logs)
    return by_kind


def biases(all_cells: list[Cell], files: dict[str, Levels]) -> Biases:
    """Return the biases that identical arms could have hidden: times share four fifths of 5 %, other kinds a fifth."""
    looked = {}
    for of, quantities in arm_pairs(all_cells, files).items():
        # a block of which some quantities ran in a later campaign is one
        of_block = defaultdict(list)
        for (campaign, number), log in itertools.chain.from_iterable(logs.items() for logs in quantities):
            of_block[number].append((campaign, log))
        means = [((ran[0][0], number), np.mean([log for _, log in ran])) for number, ran in of_block.items()]
        groups = units(means)
        look = max((look for look in LOOKS if look <= len(groups)), default=None)
        if look:
            looked[of] = np.array([np.mean(group) for group in groups[:look]])
    found = {}
    for (study, kind), means in looked.items():
        look = len(means)
        kinds = sum((other == "time") == (kind == "time") for _, other in looked)
        t = t_at(look, 0.05 * (0.8 if kind == "time" else 0.2) / kinds)
        # by how many standard errors a bias has to shift Student's distribution to be found in four of five cases
        shift = optimize.brentq(lambda d, t=t, df=look - 1: stats.nct.sf(t, df, d) - 0.8, t / 2, 2 * t)
        found[study, kind] = shift * means.std(ddof=1) / math.sqrt(look)
    return found


def kind_of(metric: str) -> str:
    if metric in {*COUNTED, "bandwidth"}:
        return "bytes"
    return "memory" if "memory" in metric else "processor time" if "cpu" in metric else "time"


# ---- verdicts


@cache
def published(study: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return between what each printed number may lie, for it was rounded."""
    found = {}
    for row in csv.DictReader((ROOT / f"data/published/{study}.csv").read_text().splitlines()):
        digits = re.search(r"\d[\d.,]*", row["printed"])
        if row["value"] and digits:
            value, decimals = float(row["value"]), re.search(r"[.,](\d+)$", digits[0])
            whole = decimals is None or value == float(re.sub(r"[.,]", "", digits[0]))
            half = 0.5 if whole else 0.5 * 10.0 ** -len(decimals[1])
            found[row["source"], row["row"], row["column"]] = (value - half, value + half)
    return found


def printed_ratio(claim: Levels, study: str, at: Levels) -> tuple[float, float] | None:
    """Return between what the printed ratio may lie; rankings, bounds and what is above or below a number have none."""
    if "published" not in claim or claim["compare"] in ("rank", "bound") or "than" in claim:
        return None
    least = most = 1.0
    for power, levels in products(claim, at)[0]:
        side = "a" if all(levels[name] == level for name, level in claim.get("a", {}).items()) else "b"
        names = {name: level for name, level in levels.items() if not isinstance(level, list)}
        names |= {name: called.get(levels[name], levels[name]) for name, called in claim.get("called", {}).items()}
        low, high = published(study)[tuple(part.format(**names) for part in claim["published"][side])]
        least, most = (least * low, most * high) if power > 0 else (least / high, most / low)
    return least, most


@dataclass
class Rule:
    """What the intervals of a contrast are held against."""

    claimed: str
    margin: float
    unit_margin: float  # of a difference, in the quantity's unit
    than: float
    printed: tuple[float, float] | None
    bias: float  # the logarithm of what identical arms could have hidden

    def verdict(self, found: Interval) -> str:
        """Return what "Exactly" says."""
        margin = math.log(self.margin) if found.is_ratio else self.unit_margin
        low, high = self.away(found) - found.half, self.away(found) + found.half
        if self.claimed == "less" or (self.claimed == "different" and self.away(found) < 0):
            low, high = -high, -low
        within = -margin <= low and high <= margin
        if self.claimed == "equal":
            return "reproduced" if within else "contradicted" if low > margin or high < -margin else "inconclusive"
        if low > margin and self.size(found) == "met":
            return "reproduced"
        if within:
            return "equivalent"
        if low > 0:
            return "direction only"
        return "contradicted" if high < -margin else "other way" if high < 0 else "inconclusive"

    def away(self, found: Interval) -> float:
        """Return how far the middle is from what it is held against."""
        return found.middle - (math.log(self.than) if found.is_ratio else 0)

    def size(self, found: Interval) -> str:
        """Return whether the interval has the printed size, cannot have it, or may."""
        if self.printed is None:
            return "met"
        least, most = self.printed[0] / 1.25, self.printed[1] * 1.25
        _, low, high = found.ends
        return "met" if least <= low and high <= most else "missed" if high < least or low > most else "open"

    def is_explained(self, verdict: str, found: Interval) -> bool:
        """Return whether a bias that identical arms would have missed explains the difference that was found."""
        likeness = verdict == ("reproduced" if self.claimed == "equal" else "equivalent")
        return found.is_ratio and not likeness and abs(self.away(found)) < self.bias


@dataclass
class Contrast:
    """One product, or the leads of a ranking."""

    leads: list[Product]
    rule: Rule

    def verdict(self, alpha: float, against: float | None = None) -> tuple[str, list[Interval]]:
        """Return the verdict with its intervals, at the look that decided it, else at the newest.

        What lies against the claim at `alpha` has to at its share, `against`. A printed size is followed on.
        """
        verdict, shown = "", []
        for look in LOOKS:
            found = [interval(lead, look, alpha) for lead in self.leads]
            if None in found:
                break
            now = worst([self.rule.verdict(one) for one in found])
            if against and now in AGAINST:
                found = [interval(lead, look, against) for lead in self.leads]
                now = worst([self.rule.verdict(one) for one in found])
            if verdict in ("", *OPEN) or (now in HOLDS and self.rule.size(found[0]) != "open"):
                verdict, shown = now, found
            is_sized = verdict != "direction only" or self.rule.size(shown[0]) != "open"
            if verdict not in OPEN and is_sized:
                break
        return verdict, shown

    def without_bias(self, verdict: str, shown: list[Interval]) -> str:
        verdicts = [verdict] if len(shown) == 1 else [self.rule.verdict(one) for one in shown]
        known = [not self.rule.is_explained(of, one) for of, one in zip(verdicts, shown, strict=True)]
        return worst([of if sure else "inconclusive" for of, sure in zip(verdicts, known, strict=True)])


def worst(verdicts: list[str]) -> str:
    """Return what a ranking's smallest lead says: all leads have to bear it out."""
    return min(verdicts, key=(*AGAINST, "inconclusive", "equivalent", "direction only", "reproduced").index)


def together(verdicts: list[str]) -> str:
    """Return what verdicts come to that all have to bear out, and of which one is enough to contradict."""
    for verdict in AGAINST:
        if verdict in verdicts:
            return verdict
    if all(verdict in HOLDS for verdict in verdicts):
        return "reproduced" if set(verdicts) == {"reproduced"} else "direction only"
    return "equivalent" if set(verdicts) == {"equivalent"} else "inconclusive"


@dataclass
class Judged:
    """A contrast's verdict, that among most, the intervals that they rest on, and those of all blocks."""

    verdict: str
    in_most: str
    intervals: list[Interval]
    overall: list[Interval]


def ran_often_enough(run: Run, study: str, lane: str, claim: Levels, at: Levels) -> set[Any]:
    """Return the levels of a ranking that by themselves ran often enough for a first look."""
    ((name, levels),) = claim["among"].items()
    base = claim["quantity"] | claim["at"] | at
    alone = {level: product(run, study, lane, claim, [(1, base | {name: level})]) for level in levels}
    return {level for level, found in alone.items() if found and len(found.units) >= min(LOOKS)}


def sides_alone(run: Run, study: str, lane: str, claim: Levels, at: Levels) -> list[Product | None]:
    """Return each side of a contrast by itself, None where it did not run."""
    sides = {json.dumps(levels): levels for factors in products(claim, at) for _, levels in factors}.values()
    return [product(run, study, lane, claim, [(1, levels)]) for levels in sides]


def has_too_few(side: Product | None) -> bool:
    """Return whether a side ran, in too few blocks for a first look."""
    return side is not None and len({row.block for row in side.rows if not row.disturbed}) < min(LOOKS)


def leads_of(
    run: Run, study: str, lane: str, claim: Levels, at: Levels, ranked: Collection[Any] | None = None
) -> list[Product]:
    """Return a contrast's products, or a ranking's leads, of which some block has all sides."""
    every = [product(run, study, lane, claim, factors) for factors in products(claim, at, ranked)]
    return [one for one in every if one]


def contrasts_of(run: Run, file: Levels, claim: Levels, lane: str, hidden: Biases) -> dict[str, tuple[int, Contrast]]:
    """Return each contrast by its name, with how many leads it counts for: none where no block has all its sides."""
    margin, *unit_margin = [part for part in file["margins"][claim["margin"]] if not isinstance(part, str)]
    claimed = "more" if claim["compare"] == "rank" else "less" if "below" in claim else claim.get("claimed", "more")
    found = {}
    for at in contrasts(claim, lane):
        kind = kind_of((claim["quantity"] | at)["metric"])
        printed, bias = printed_ratio(claim, file["study"], at), hidden.get((file["study"], kind), 0.0)
        rule = Rule(claimed, margin, *(unit_margin or [0]), claim.get("than", 1), printed, bias)
        name = ", ".join(f"{parameter}={level}" for parameter, level in at.items())
        of = (run, file["study"], lane, claim, at)
        alone = sides_alone(*of)
        if claim["compare"] == "rank":
            # "Kinds of contrasts": of those ranked, who by themselves ran often enough
            ranked = ran_often_enough(*of)
            leads = leads_of(*of, ranked)
            others = len(ranked) - 1 if "order" in claim["claimed"] else len(ranked - {*claim["claimed"].values()})
            ran = max(others, 1) if leads or any(map(has_too_few, alone)) else 0
        else:
            leads = leads_of(*of)
            ran = int(all(alone) or any(map(has_too_few, alone)))
        found[name] = (ran, Contrast(over_shared_blocks(leads), rule))
    return found


def judge(run: Run, file: Levels, claim: Levels, lane: str, hidden: Biases) -> tuple[str, dict[str, Judged | None]]:
    """Return a claim's verdict on a lane, and its contrasts, without a verdict where too little ran."""
    most = claim.get("most", False)
    found = contrasts_of(run, file, claim, lane, hidden)
    # "Every contrast", of those that ran; "Most contrasts", of all
    leads = [ran or 1 for ran, _ in found.values() if ran or most]
    n = len(leads)
    u = n // 2 + 1
    judged: dict[str, Judged | None] = dict.fromkeys(found)
    for name, (_, contrast) in found.items():
        if contrast.leads:
            alpha_most = 0.05 / (n - u + 1)
            against = 0.05 / sum(leads) * (n / u if most else 1)
            found_so = contrast.verdict(alpha_most if most else 0.05, against)
            found_in_most = contrast.verdict(alpha_most)
            verdicts = (contrast.without_bias(*found_so), contrast.without_bias(*found_in_most))
            judged[name] = Judged(*verdicts, found_so[1], [interval(lead, None) for lead in contrast.leads])
    verdict = of_group([one for one in judged.values() if one], n if most else None)
    # "Several products"
    engines = claim.get("among", claim.get("each", {})).get("engine", [])
    if verdict == "reproduced" and not run.engines[file["study"], lane].issuperset(engines):
        verdict = "reproduced in part"
    # "Objections"
    objections = [one for one in file.get("objections", []) if any(fnmatch(claim["id"], of) for of in one["claims"])]
    if verdict == "contradicted" and any("answer" not in one for one in objections):
        verdict = "inconclusive"
    return verdict, judged


def of_group(judged: list[Judged], of_all: int | None) -> str:
    """Return what contrasts come to: that all hold or, of so many of which some may not have run, that most do."""
    verdicts, in_most = [one.verdict for one in judged], [one.in_most for one in judged]
    if not judged:
        return "not testable here"
    if not of_all and (len(judged) == 1 or together(verdicts) != "inconclusive"):
        return together(verdicts)
    u = (of_all or len(judged)) // 2 + 1
    if of_all and sum(verdict in AGAINST for verdict in verdicts) > of_all - u:
        return "contradicted" if verdicts.count("contradicted") > of_all - u else "other way"
    if in_most.count("reproduced") >= u:
        return "reproduced" if of_all else "reproduced in part"
    if sum(verdict in HOLDS for verdict in in_most) >= u:
        return "direction only"
    return "equivalent" if of_all and in_most.count("equivalent") >= u else "inconclusive"


def claim_files() -> dict[str, Levels]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = [yaml.load(path.read_text(), loader) for path in sorted((ROOT / "data" / "claims").glob("*.yaml"))]
    return {file["study"]: file for file in files}
