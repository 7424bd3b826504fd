"""Judge the reference run once more, from docs/method.md alone: read the two side by side.

Input is figures/reference/repetitions.parquet, data/claims and data/published. Nothing of
`benchbook` is imported. `python tests/independent.py` compares every verdict and interval with
`benchbook claims --reference --json`. Words in quotation marks are those of the page.
"""

import csv
import itertools
import json
import math
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import yaml
from scipy import stats

from checkout import ROOT

REFERENCE = ROOT / "figures" / "reference"
Levels = dict[str, Any]
Quantity = tuple[str, str, str]  # operation, role, metric
Block = tuple[str, int, pd.Timestamp]  # host, number, begin of the pass

# Names of the command's output.
COUNTS = {
    "for": "for",
    "against": "against",
    "open": "open",
    "not comparable": "not_comparable",
    "not run": "not_run",
}
NUMBERS = ("estimate", "low", "high")

# Columns of the committed file.
OF_CELL = ("study", "language", "host", "block", "cell_id")
OF_ROW = ("database", "topology", "model", "driver", "codec", "format", "arm", "own_level")
OF_VALUE = (
    "operation",
    "role",
    "metric",
    "value",
    "count",
    "timed_out",
    "noisy",
    "state",
    "started_at",
)
LATER_COLUMNS = ("checked", "own_processors", "turn")  # older rows have none
# Parameters among the columns of every study; the others are in the data dictionary.
PARAMETERS = ("n", "topology", "transport", "durability", "repetitions", "seed")
MIXED = ("batch", "comments_per_article")  # levels are numbers as well as texts: the file has texts

# Levels of parameters that a claim may leave out, in the order of preference; the first is the
# default.
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "process": ("together", "apart", "operation"),
    "trials": ("alone", "sequence"),
    "heap": ("default", "64m"),
    "binary_log": ("needed", "always"),
    "network": ("none",),
    "commit": ("each", "later"),
    "load": ("each", "bulk"),
    "keys": ("paper", "short", "long", "nested"),
    "batch": ("all", 50000),
    "constraints": ("on", "off"),
    "document_schema": ("required", "types", "validated"),
    "json_codec": ("orjson", "json", "msgspec", "jackson", "moxy"),
    "xml_codec": ("lxml", "etree", "xsdata", "jaxb", "xmldecoder"),
    "held_mb": (0,),
    "attributes": (89, 6),
    "case": (1, 2),
    "topology": ("single", "replicated"),
}
# Parameters whose levels may take turns in a cell, as "on/off"; `own_level` is the row's.
TURNS = {"constraints", "keys"}
# Parameters of a study that the file may not have, because they came later: all at the default.
LATER = {"crud": ("commit", "load")}
LANGUAGES = {
    **dict.fromkeys(("jackson", "moxy", "jaxb", "jaxb_context", "dom", "xmldecoder"), "java"),
    **dict.fromkeys(("mongoclient", "mongoose"), "node"),
}
BESIDE = {
    **{"format": "codec", "codec": "format", "metric": "process", "process": "metric"},
    **{"database": "commit", "commit": "database"},
}
OF_PLUGINS = {"couchbase", "sqlserver", "arangodb"}
COUNTED = {
    "size",
    "markup_size",
    "markup_percent",
    "bytes_received",
    "card_bytes_sent",
    "card_bytes_received",
}
CAN_BE_NEGATIVE = {"memory_change", "memory_change_kb", "heap_change"}

# "Interval"
ICC = 0.35
CONFIDENCE = 0.99
MIN_BLOCKS = 5

# "Smallest difference that matters": of memory, below it there is too little to measure.
SMALLEST_CHANGE_KB = 256


# ---- "Block"


@dataclass
class Mean:
    """The mean of a quantity over the repetitions of a block."""

    value: float
    timed_out: bool
    noisy: bool
    items: float


@dataclass
class Configuration:
    """One way in which cells ran, with its block means by operation, then role and metric."""

    language: str
    settings: Levels
    parameters: list[str]
    in_turn: Levels  # levels of the cell that are several of a row, which take turns in it
    means: dict[str, dict[Block, dict[tuple[str, str], Mean]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def common(self, apart: set[str]) -> str:
        """Return the settings that sides must share."""
        names = {*self.parameters} - apart - {"language", "arm", "seed", "repetitions"}
        others = {name: self.in_turn[name] for name in sorted(self.in_turn.keys() - apart)}
        return json.dumps([{name: self.settings[name] for name in sorted(names)}, others])

    def turns(self, apart: set[str]) -> str:
        """Return which of the settings that differ between sides take turns in the cell."""
        return json.dumps([self.in_turn[name] for name in sorted(self.in_turn.keys() & apart)])


@cache
def list_parameters() -> tuple[str, ...]:
    """Return the columns of parameters; ``cell_format`` is one of which a row has its own level."""
    with (ROOT / "data" / "dictionary.csv").open(newline="", encoding="utf-8") as file:
        return (
            *PARAMETERS,
            *(line["name"] for line in csv.DictReader(file) if line["kind"] == "parameter"),
        )


def read_parameters(row: dict[str, Any]) -> Levels:
    """Return the levels of a cell's parameters by their names."""
    levels = {}
    for column in list_parameters():
        level = row[column]
        # A study without servers has no topology to choose.
        if level is None or level != level or (column == "topology" and level == "none"):
            continue
        if (column in MIXED and level.isdigit()) or (
            isinstance(level, float) and level.is_integer()
        ):
            level = int(level)
        levels[column.removeprefix("cell_")] = level
    return levels


def load_repetitions() -> pd.DataFrame:
    """Return the repetitions of finished cells with the pass that their block is."""
    columns = dict.fromkeys([*OF_CELL, *OF_ROW, *OF_VALUE, *list_parameters()])
    file = REFERENCE / "repetitions.parquet"
    stored = pq.read_schema(file).names
    read = [name for name in [*columns, *LATER_COLUMNS] if name in stored]
    rows = pd.read_parquet(file, columns=read).reindex(columns=[*columns, *LATER_COLUMNS])
    for study, names in LATER.items():
        for name in names:
            is_older = rows["study"].eq(study) & rows[name].isna()
            rows[name] = rows[name].astype(object).mask(is_older, DEFAULTS[name][0])
    # A plug-in's adapter counts once it has been checked on a server.
    is_of_plugin = rows["database"].str.partition("+")[0].isin(OF_PLUGINS)
    rows = rows[~is_of_plugin | rows["checked"].notna()]
    rows = rows[rows["state"].eq("done") & (rows["value"].notna() | rows["timed_out"])]
    # A pass ends where no cell of its block has begun for an hour.
    rows = rows.sort_values("started_at")
    number = rows.groupby(["host", "block"])["started_at"].transform(
        lambda t: (t.diff() > pd.Timedelta("1h")).cumsum()
    )
    begun = rows.groupby(["host", "block", number])["started_at"].transform("min")
    return rows.assign(begun=begun)


def machine_day(block: Block) -> tuple[str, str]:
    """Return the host of a block and the date (UTC) on which its pass began."""
    host, _, begun = block
    return host, begun.strftime("%Y-%m-%d")


def join_orders(means: pd.DataFrame) -> pd.DataFrame:
    """Return block means in which both drivers of Node.js began: "Both orders".

    What one of them began is joined with the next that the other began on that machine-day.
    """
    is_pair = means["study"].eq("drivers") & means["language"].eq("node")
    is_pair &= means["process"].eq("together") & means["cell_arm"].eq("a") & ~means["noisy"]
    is_pair &= means["operation"].eq("find") | means["metric"].str.startswith("cpu_")
    is_pair &= ~(means["least_turn"].eq(1) & means["largest_turn"].gt(1))
    of_operation = ["cell_id", "host", "block", "begun", "operation", "role", "metric"]
    earliest = means.groupby(of_operation)["started"].transform("min")
    rows = means[is_pair].assign(
        began=means["least_turn"].eq(1)
        | (means["least_turn"].isna() & means["started"].eq(earliest)),
        day=means["begun"].dt.strftime("%Y-%m-%d"),
    )
    joined = []
    of_side = ["cell_id", "host", "day", "driver", "operation", "role", "metric"]
    for _, side in rows.sort_values("started").groupby(of_side, sort=False):
        blocks = side.to_dict("records")
        begun = [row for row in blocks if row["began"]]
        others = [row for row in blocks if not row["began"]]
        for named, one, other in zip(blocks, begun, others, strict=False):
            numbers = {name: named[name] for name in ("block", "begun")}
            value = (one["value"] + other["value"]) / 2
            joined.append({**one, **numbers, "value": value})
    return pd.concat([means[~is_pair], pd.DataFrame(joined)], ignore_index=True)


def load_configurations() -> dict[str, list[Configuration]]:
    """Return the configurations that ran, by study, without second arms of A/A checks."""
    rows = load_repetitions()
    unit = [*OF_CELL, "begun", *OF_ROW, "operation", "role", "metric"]
    means = rows.groupby(unit, dropna=False, as_index=False).agg(
        value=("value", "mean"),
        timed_out=("timed_out", "any"),
        noisy=("noisy", "any"),
        items=("count", "mean"),
        started=("started_at", "min"),
        least_turn=("turn", "min"),
        largest_turn=("turn", "max"),
        own_processors=("own_processors", "min"),
        process=("process", "first"),
        cell_arm=("cell_arm", "first"),
    )
    means = join_orders(means)
    cells = rows.drop_duplicates("cell_id").set_index("cell_id", drop=False)
    parameters_of = {str(row["cell_id"]): read_parameters(row) for row in cells.to_dict("records")}
    found: dict[tuple[Any, ...], Configuration] = {}
    of_study: dict[str, list[Configuration]] = defaultdict(list)
    for row in means.to_dict("records"):
        parameters = parameters_of[row["cell_id"]]
        if row["arm"] != "a" or parameters["arm"] != "a":
            continue
        own = {name: row[name] for name in OF_ROW if isinstance(row[name], str)}
        level = own.pop("own_level", None)
        own |= {name: level for name in TURNS if "/" in str(parameters.get(name))}
        # Cells that differ in repetitions or in the seed only are pooled.
        telling = {n: level for n, level in parameters.items() if n not in ("repetitions", "seed")}
        key = (row["study"], row["language"], json.dumps(telling, sort_keys=True), *own.items())
        if key not in found:
            both = own.keys() & parameters.keys()
            in_turn = {name: parameters[name] for name in both if parameters[name] != own[name]}
            settings = {**parameters, **own}
            found[key] = Configuration(row["language"], settings, [*parameters], in_turn)
            of_study[row["study"]].append(found[key])
        # The fewest of its blocks; 0 where a row does not say.
        known = 0 if pd.isna(row["own_processors"]) else int(row["own_processors"])
        fewest = found[key].settings.get("own_processors", known)
        found[key].settings["own_processors"] = min(fewest, known)
        block = (row["host"], row["block"], row["begun"])
        mean = Mean(row["value"], bool(row["timed_out"]), bool(row["noisy"]), row["items"])
        found[key].means[row["operation"]].setdefault(block, {})[row["role"], row["metric"]] = mean
    return of_study


def average_blocks(of: Configuration, quantity: Quantity) -> dict[Block, Mean]:
    """Return a quantity's mean in each block."""
    operation, role, metric = quantity
    found = {
        block: _mean(of, means, role, metric)
        for block, means in of.means.get(operation, {}).items()
    }
    return {block: mean for block, mean in found.items() if mean is not None}


def _mean(
    of: Configuration, means: dict[tuple[str, str], Mean], role: str, metric: str
) -> Mean | None:
    """Return a block's mean, stored or made of others: "Derived quantities"."""

    def total(*names: str, of_role: str = role) -> Mean:
        parts = [means[of_role, name] for name in names]
        first = parts[0]
        value = sum(part.value for part in parts)
        return Mean(value, any(part.timed_out for part in parts), first.noisy, first.items)

    def divide_means(part: Mean, whole: Mean, factor: float) -> Mean:
        return Mean(
            factor * part.value / whole.value,
            part.timed_out or whole.timed_out,
            part.noisy,
            part.items,
        )

    def scale_mean(part: Mean, factor: float) -> Mean:
        return Mean(part.value * factor, part.timed_out, part.noisy, part.items)

    def cpu() -> Mean:
        return (
            total("cpu_total") if (role, "cpu_total") in means else total("cpu_user", "cpu_system")
        )

    def get_elapsed() -> Mean:
        return (
            total("wall_time") if of.settings.get("topology") == "single" else total("elapsed_time")
        )

    def get_received() -> Mean:
        at_card = (role, "card_bytes_received") in means
        return total("card_bytes_received" if at_card else "bytes_received")

    derived = {
        "elapsed_time": get_elapsed,
        "time_per_item": lambda: scale_mean(total("wall_time"), 1e-6 / total("wall_time").items),
        "cpu_time": lambda: scale_mean(cpu(), 1e-9),
        "cpu_user_time": lambda: scale_mean(total("cpu_user"), 1e-9),
        "cpu_system_time": lambda: scale_mean(total("cpu_system"), 1e-9),
        "cpu_percent": lambda: divide_means(cpu(), total("cpu_capacity"), 100),
        "cpu_user_percent": lambda: divide_means(total("cpu_user"), total("cpu_capacity"), 100),
        "cpu_system_percent": lambda: divide_means(total("cpu_system"), total("cpu_capacity"), 100),
        "idle_percent": lambda: divide_means(total("idle_time"), total("wall_time"), 100),
        "markup_percent": lambda: divide_means(total("markup_size"), total("size"), 100),
        "memory_percent": lambda: divide_means(total("memory_used"), total("memory_total"), 100),
        "memory_rss_mb": lambda: scale_mean(total("memory_rss"), 2.0**-20),
        "memory_pss_mb": lambda: scale_mean(total("memory_pss"), 2.0**-20),
        "memory_change_kb": lambda: scale_mean(total("memory_change"), 1e-3),
        "bandwidth": lambda: divide_means(
            get_received(), total("elapsed_time", of_role="client"), 8e6
        ),
    }
    try:
        return derived.get(metric, lambda: total(metric))()
    except KeyError:
        return None


# ---- "Which cells are compared"


@dataclass
class Side:
    """One side of a comparison: its value in each block that no other program noisy."""

    settings: Levels
    values: dict[Block, float]
    timed_out: set[Block]


def list_levels(level: Any) -> list[Any]:
    return level if isinstance(level, list) else [level]


def choose_sides(
    of_study: list[Configuration], language: str, wanted: dict[Any, Levels]
) -> dict[Any, Side]:
    """Return the sides that ran, alike in all other parameters, at defaults where those ran."""
    apart = set[str]()
    for at in wanted.values():
        for name in at:
            if len({str(one.get(name)) for one in wanted.values()}) > 1:
                apart.add(name)
    apart |= {BESIDE[name] for name in apart if name in BESIDE}
    # By what sides have in common, and what takes turns: of each side the best configuration.
    groups: dict[tuple[str, str], dict[Any, tuple[list[int], Configuration, Quantity]]] = (
        defaultdict(dict)
    )
    for (name, at), one in itertools.product(wanted.items(), of_study):
        # Levels of a parameter that take turns are read where they are compared only.
        if one.language != language or (one.in_turn.keys() & TURNS) - apart:
            continue
        for rank, quantity in _rank_quantities(one, at):
            group = groups[one.common(apart), one.turns(apart)]
            if name not in group or rank < group[name][0]:
                group[name] = rank, one, quantity
    if not groups:
        return {}

    def distance(group: dict[Any, tuple[list[int], Configuration, Quantity]]) -> tuple[Any, ...]:
        return -len(group), sorted(rank for rank, *_ in group.values())

    # "Blocks in which the sides took turns in one process and blocks in which each had its own are
    # pooled; a block that has both gives the one in turns."
    nearest = min(map(distance, groups.values()))
    pooled: dict[str, dict[Any, Side]] = {}
    alternate: dict[str, bool] = {}
    by_turns = sorted(groups.items(), key=lambda item: -len(json.loads(item[0][1])))
    for (common, _), group in by_turns:
        if distance(group) == nearest:
            sides = {name: _side(one, quantity) for name, (_, one, quantity) in group.items()}
            before = pooled.setdefault(common, sides)
            pooled[common] = {name: _add_blocks(before[name], sides[name]) for name in sides}
            alternate.setdefault(common, all(one.in_turn for _, one, _ in group.values()))
    return max(pooled.items(), key=lambda item: (_is_enough(item[1]), alternate[item[0]]))[1]


def _add_blocks(side: Side, other: Side) -> Side:
    """Return a side with the blocks that only the other has."""
    timed_out = side.timed_out | (other.timed_out - side.values.keys())
    return Side(side.settings, {**other.values, **side.values}, timed_out)


def _is_enough(sides: dict[Any, Side]) -> bool:
    return len(set.intersection(*({*side.values} for side in sides.values()))) >= MIN_BLOCKS


def _rank_quantities(one: Configuration, at: Levels) -> Iterator[tuple[list[int], Quantity]]:
    """Yield a configuration's quantities of the wanted levels, with its rank: low is near."""
    names = [name for name in at if name not in ("operation", "role", "metric")]
    if any(one.settings.get(name) not in list_levels(at[name]) for name in names):
        return
    named = [list_levels(at[name]).index(one.settings[name]) for name in names]
    unnamed = [name for name in DEFAULTS if name not in at and name in one.settings]
    distance = [[*DEFAULTS[name], one.settings[name]].index(one.settings[name]) for name in unnamed]
    quantities = itertools.product(
        *(list_levels(at[name]) for name in ("operation", "role", "metric"))
    )
    for place, quantity in enumerate(quantities):
        if average_blocks(one, quantity):
            yield [*named, place, sum(map(bool, distance)), sum(distance)], quantity


def _side(one: Configuration, quantity: Quantity) -> Side:
    means = average_blocks(one, quantity)
    quiet = {
        block: mean for block, mean in means.items() if quantity[2] in COUNTED or not mean.noisy
    }
    values = {block: mean.value for block, mean in quiet.items()}
    return Side(one.settings, values, {block for block, mean in quiet.items() if mean.timed_out})


def pool(
    of_study: list[Configuration], language: str, wanted: dict[str, Levels], over: Levels
) -> dict[str, Side]:
    """Return sides that are means over those levels that both ran, two at least."""
    ((factor, levels),) = over.items()
    parts = {}
    for name, at in wanted.items():
        for level in levels:
            parts[name, level] = at | {factor: level}
    sides = choose_sides(of_study, language, parts)
    ran = [level for level in levels if all((name, level) in sides for name in wanted)]
    if len(ran) < 2:
        return {}
    return {name: _average([sides[name, level] for level in ran]) for name in wanted}


def _average(parts: list[Side]) -> Side:
    shared = set.intersection(*({*part.values} for part in parts))
    values = {block: float(np.mean([part.values[block] for part in parts])) for block in shared}
    return Side(parts[0].settings, values, set.union(*(part.timed_out for part in parts)))


# ---- "Interval"


def interval(values: list[float], days: list[Any]) -> tuple[float, float, float]:
    """Return the estimate and its ends, which are NaN below five blocks."""
    of_day: dict[Any, list[float]] = defaultdict(list)
    for value, day in zip(values, days, strict=True):
        of_day[day].append(value)
    c = ICC / (1 - ICC)
    weights = {day: len(ys) / (1 + c * len(ys)) for day, ys in of_day.items()}
    m = sum(weights[day] * np.mean(ys) for day, ys in of_day.items()) / sum(weights.values())
    if len(values) < MIN_BLOCKS:
        return m, math.nan, math.nan
    squares = sum((y - m) ** 2 for y in values)
    for ys in of_day.values():
        n = len(ys)
        squares -= c / (1 + c * n) * (n * (np.mean(ys) - m)) ** 2
    variance = (
        squares / (len(values) - 1) if np.ptp(values) > 1e-12 * max(map(abs, values)) else 0.0
    )
    reach = stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * math.sqrt(
        variance / sum(weights.values())
    )
    return m, m - reach, m + reach


# ---- "A comparison"


@dataclass
class Compared:
    """A comparison: where it stands to its claim, with its numbers."""

    stands: str
    label: str = ""
    n: int = 0
    ends: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    blocks: int = 0
    machine_days: int = 0
    printed: tuple[float, float] | None = None


def combinations(claim: Levels, language: str) -> Iterator[Levels]:
    """Yield the levels of each comparison; codecs and drivers only in their own language."""
    each = claim.get("each", {})
    for picked in itertools.product(*each.values()):
        levels = dict(zip(each, picked, strict=True))
        own = {
            LANGUAGES.get(level, "python")
            for name, level in levels.items()
            if name in ("codec", "driver")
        }
        if own <= {language}:
            yield levels


def signed_sides(claim: Levels, levels: Levels) -> list[list[tuple[int, str, Levels]]]:
    """Return of each comparison its sides: sign, name, and the levels that it asks for."""
    base = {**claim["quantity"], **claim.get("at", {}), **levels}
    a, b = claim.get("a", {}), claim.get("b", {})
    kind = claim["compare"]
    if kind == "ratio":
        return [[(1, "a", base | a), (-1, "b", base | b)]]
    if kind == "rank":
        return [
            [(1, str(x), base | {f: x}), (-1, str(y), base | {f: y})]
            for f, x, y in ranked_pairs(claim)
        ]
    ((factor, ends),) = claim["over"].items()
    first, last = {factor: ends[0]}, {factor: ends[-1]}
    trend = [(1, "a last", base | a | last), (-1, "a first", base | a | first)]
    if kind == "trend":
        return [trend]
    return [[trend[0], (-1, "b last", base | b | last), trend[1], (1, "b first", base | b | first)]]


def ranked_pairs(claim: Levels) -> list[tuple[str, Any, Any]]:
    """Return the factor and the two levels of each comparison of a ranking."""
    ((factor, levels),) = claim["among"].items()
    claimed = claim["claimed"]
    if "order" in claimed:
        return [(factor, before, after) for before, after in itertools.pairwise(claimed["order"])]
    (named,) = claimed.values()
    return [(factor, named, other) for other in levels if other != named]


def compare(
    file: Levels, claim: Levels, of_study: list[Configuration], language: str
) -> Iterator[Compared]:
    """Yield a claim's comparisons in one language."""
    for levels in combinations(claim, language):
        for signed in signed_sides(claim, levels):
            wanted = {name: at for _, name, at in signed}
            if "pooled" in claim:
                sides = pool(of_study, language, wanted, claim["pooled"])
            else:
                sides = choose_sides(of_study, language, wanted)
            label = ", ".join(f"{name}={text(level)}" for name, level in levels.items())
            if len(sides) < len(wanted):
                yield Compared("not run", label)
                continue
            found = compare_sides(claim, [(sign, sides[name]) for sign, name, _ in signed])
            found.label, found.printed = label, printed_ratio(file, claim, label, signed)
            if found.blocks == 0:
                found.stands = "not run"
            elif any(
                names_claim(reason, claim, sides)
                and not is_excused(reason, of_study, language, wanted, sides)
                for reason in file.get("not_comparable", [])
            ):
                found.stands = "not comparable"
            yield found


def compare_sides(claim: Levels, signed: list[tuple[int, Side]]) -> Compared:
    """Return the interval of a comparison and where it stands."""
    blocks = sorted(set.intersection(*({*side.values} for _, side in signed)))
    is_difference = claim["quantity"]["metric"] in CAN_BE_NEGATIVE
    sizes = {side.settings.get("n") for _, side in signed}
    n = sizes.pop() if len(sizes) == 1 else None
    found = Compared(
        "open", n=n or 0, blocks=len(blocks), machine_days=len({*map(machine_day, blocks)})
    )
    table = np.array([[side.values[block] for block in blocks] for _, side in signed])
    timed_out = set.union(*(side.timed_out for _, side in signed)) & {*blocks}
    if not blocks or timed_out or (not is_difference and (table <= 0).any()):
        return found
    than = claim.get("than", 1.0)
    signs = np.array([sign for sign, _ in signed])
    values = np.where(signs > 0, 1, -than) @ table if is_difference else signs @ np.log(table)
    found.ends = interval([*values], [*map(machine_day, blocks)])
    null = 0.0 if is_difference else math.log(than)
    margin = math.log(claim["sdm"])
    if is_difference:
        larger = max(abs(float(np.mean(row))) for row in table)
        margin = (claim["sdm"] - 1) * larger
    direction = claim["claimed"]
    if claim["compare"] == "rank":
        direction = "more" if "last" in claim["claimed"] else "less"
    estimate, low, high = (end - null for end in found.ends)
    found.stands = stand(direction, estimate, low, high, margin)
    if is_difference and larger < SMALLEST_CHANGE_KB:
        found.stands = "not comparable"
    if not is_difference:
        found.ends = tuple(map(math.exp, found.ends))
    return found


def stand(claimed: str, estimate: float, low: float, high: float, margin: float) -> str:
    """Return where an interval stands to a claim; no difference is 0."""
    if math.isnan(low):
        return "open"
    is_within = -margin <= low and high <= margin
    is_beyond = low > margin or high < -margin
    if claimed == "equal":
        if is_within:
            return "for"
        return "against" if is_beyond else "open"
    if claimed == "different":
        differs = (low > 0 and estimate > margin) or (high < 0 and estimate < -margin)
        if differs:
            return "for"
        return "against" if is_within else "open"
    if claimed == "less":
        estimate, low, high = -estimate, -high, -low
    if low > 0 and estimate > margin:
        return "for"
    return "against" if high < margin else "open"


def names_claim(reason: Levels, claim: Levels, sides: dict[str, Side]) -> bool:
    """Return whether an entry of `not_comparable` names the claim, and levels of some side."""
    if not any(fnmatchcase(claim["id"], pattern) for pattern in reason["claims"]):
        return False
    at = reason.get("at", {}).items()
    return any(
        all(side.settings.get(name) in list_levels(level) for name, level in at)
        for side in sides.values()
    )


def is_excused(
    reason: Levels,
    of_study: list[Configuration],
    language: str,
    wanted: dict[str, Levels],
    sides: dict[str, Side],
) -> bool:
    """Return whether each side with the reason's levels was measured to be below its bound."""
    if "unless" not in reason:
        return False
    bound = reason["unless"]
    means = []
    for name, side in sides.items():
        if not names_claim({**reason, "claims": ["*"]}, {"id": ""}, {name: side}):
            continue
        ran = {key: side.settings.get(key, level) for key, level in wanted[name].items()}
        asked = {**ran, "role": bound["role"], "metric": bound["metric"]}
        found = choose_sides(of_study, language, {name: asked})
        means.append(np.mean([*found[name].values.values()]) if found else math.inf)
    return all(mean < bound["below"] for mean in means)


# ---- "A claim"


def judge(counts: Counter[str]) -> str:
    """Return the verdict from the number of comparisons that stand for, against, open."""
    in_favour, against = counts["for"], counts["against"]
    ran = in_favour + against + counts["open"]
    if ran == 0:
        return "not comparable" if counts["not comparable"] else "not run"
    if in_favour == ran:
        return "holds"
    if in_favour / ran >= 2 / 3:
        return "mostly holds"
    if against / ran >= 2 / 3:
        return "does not hold"
    if min(in_favour, against) >= 2 and min(in_favour, against) / ran >= 1 / 4:
        return "mixed"
    return "undecided"


@dataclass
class Judged:
    """A claim's verdict, the language that counts, and its comparisons in each language."""

    verdict: str
    language: str
    compared: dict[str, list[Compared]]
    claim: Levels

    @property
    def counts(self) -> Counter[str]:
        return Counter(one.stands for one in self.compared[self.language])

    @property
    def headline(self) -> Compared:
        """The paper's own headline: its printed number, else its largest size with an interval."""
        own = self.compared[self.language]
        ran = [one for one in own if one.stands in ("for", "against", "open")]
        shown = ran or [one for one in own if one.stands == "not comparable"] or own

        # "Of equal ones, the first that stands as the verdict says"
        outcome = {"mostly holds": "for", "does not hold": "against"}.get(self.verdict)

        def rank(one: Compared) -> tuple[bool, bool, bool, float, bool]:
            estimate, low, _ = one.ends
            known, has_interval = not math.isnan(estimate), not math.isnan(low)
            return known, one.printed is not None, has_interval, one.n, one.stands == outcome

        return max(shown, key=rank)

    @property
    def size(self) -> str:
        """How the interval lies to the printed ratio; empty where an open one contains it."""
        head = self.headline
        is_memory = self.claim["quantity"]["metric"] in CAN_BE_NEGATIVE
        if head.printed is None or math.isnan(head.ends[1]) or is_memory:
            return ""
        # "Not said where our decoder was chosen by that number"
        if self.claim.get("fitted"):
            return ""
        least, most = head.printed
        if head.ends[1] > most:
            return "larger"
        if head.ends[2] < least:
            return "smaller"
        # "Narrower than the printed effect"
        effect = abs(math.log(math.sqrt(least * most) / self.claim.get("than", 1.0)))
        if self.claim["claimed"] == "equal":
            effect = 2 * math.log(self.claim["sdm"])
        is_narrow = math.log(head.ends[2] / head.ends[1]) < effect
        return "as printed" if is_narrow and head.stands in ("for", "against") else ""


def judge_claims() -> Iterator[tuple[str, Judged]]:
    """Yield each claim's id with its verdict, without facts and what is not testable."""
    ran = load_configurations()
    for file in claim_files():
        of_study = ran[file["study"]]
        for claim in file["claims"]:
            if claim.get("fact") or claim["compare"] == "none":
                continue
            yield claim["id"], judge_claim(file, claim, of_study)


def judge_claim(file: Levels, claim: Levels, of_study: list[Configuration]) -> Judged:
    """Judge a claim in each language; the paper's own counts where the claim ran in it."""
    margin = claim["margin"]
    named = file["margins"][margin][0] if isinstance(margin, str) else margin
    claim = claim | {"sdm": named}
    own = file.get("paper_language", "python")
    asked = claim.get("languages", file.get("languages", []))
    ran = Counter(one.language for one in of_study)
    languages = [language for language, _ in ran.most_common() if not asked or language in asked]
    languages = sorted(languages, key=lambda language: language != own) or [*asked, own][:1]
    compared = {language: [*compare(file, claim, of_study, language)] for language in languages}
    compared = {language: rows for language, rows in compared.items() if rows}
    verdicts = {
        language: judge(Counter(one.stands for one in rows)) for language, rows in compared.items()
    }
    counted = next((one for one in verdicts if verdicts[one] != "not run"), next(iter(verdicts)))
    return Judged(verdicts[counted], counted, compared, claim)


def claim_files() -> Iterable[Levels]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [
        yaml.load(path.read_text(), loader)
        for path in sorted((ROOT / "data" / "claims").glob("*.yaml"))
    ]


# ---- "Size"


@cache
def read_printed(study: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the range of each printed number, because it was rounded."""
    found = {}
    for row in csv.DictReader((ROOT / f"data/published/{study}.csv").read_text().splitlines()):
        digits = re.search(r"\d[\d.,]*", row["printed"])
        if row["value"]:
            value, half = float(row["value"]), 0.5
            decimals = re.search(r"[.,](\d+)$", digits[0]) if digits else None
            if decimals and value != float(re.sub(r"[.,]", "", digits[0])):
                half = 0.5 * 10.0 ** -len(decimals[1])
            found[row["source"], row["row"], row["column"]] = (value - half, value + half)
    return found


def printed_ratio(
    file: Levels, claim: Levels, label: str, signed: list[tuple[int, str, Levels]]
) -> tuple[float, float] | None:
    """Return between what the printed or claimed ratio lies; None where there is none."""
    size = claim.get("size", {})
    size = size.get(label) if isinstance(size, dict) else size
    if size:
        return size, size
    least = most = 1.0
    for sign, name, at in signed:
        key = claim.get("published", {}).get(
            name if claim["compare"] == "rank" else name.split(" ")[0]
        )
        if key is None:
            return None
        called = claim.get("called", {})
        single = {name: level for name, level in at.items() if not isinstance(level, list)}
        words = {name: called.get(name, {}).get(level, level) for name, level in single.items()}
        printed = read_printed(file["study"]).get(tuple(part.format(**words) for part in key))
        if printed is None:
            return None
        low, high = printed
        least, most = (least * low, most * high) if sign > 0 else (least / high, most / low)
    return least, most


def text(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


# ---- held against the command


def differences(judged: Iterable[tuple[str, Judged]], printed: list[Levels]) -> Iterator[str]:
    """Yield where the command's output differs from what the page gives.

    Parameters
    ----------
    judged
        What `judge_claims` yields.
    printed
        What `benchbook claims --reference --json` prints.
    """
    said = {row["id"]: row for row in printed}
    for name, ours in judged:
        row = said.pop(name, None)
        if row is None:
            yield f"{name}: the command does not print it"
        else:
            yield from (f"{name}: {difference}" for difference in _differences(ours, row))
    yield from (f"{name}: only the command has it" for name in said)


def _differences(ours: Judged, row: Levels) -> Iterator[str]:
    """Yield where one claim differs: verdict, counts, headline, comparisons."""
    counts = {key: ours.counts[name] for name, key in COUNTS.items()}
    for key, value in {
        "verdict": ours.verdict,
        "language": ours.language,
        "size": ours.size,
        **counts,
    }.items():
        if row[key] != value:
            yield f"{key}: {row[key]}, {value} here"
    if not _same(ours.headline.ends, row):
        yield f"headline: {[row[name] for name in NUMBERS]}, {ours.headline.ends} here"
    mine = []
    for language in sorted(ours.compared):
        mine += [(language, one) for one in ours.compared[language]]
    printed = sorted(row["comparisons"], key=lambda comparison: comparison["language"])
    if len(mine) != len(printed):
        yield f"{len(printed)} comparisons, {len(mine)} here"
        return
    for (language, one), theirs in zip(mine, printed, strict=True):
        names = {"language": language, "label": one.label, "stands": one.stands}
        if one.stands != "not run":
            names |= {"blocks": one.blocks, "machine_days": one.machine_days}
        for key, value in names.items():
            if theirs[key] != value:
                yield f"{language}, {one.label}: {key}: {theirs[key]}, {value} here"
        if not _same(one.ends, theirs):
            yield f"{language}, {one.label}: {[theirs[name] for name in NUMBERS]}, {one.ends} here"


def _same(ends: tuple[float, float, float], row: Levels) -> bool:
    """Return whether the numbers of a row are those; JSON has null for NaN."""
    theirs = [math.nan if row[name] is None else row[name] for name in NUMBERS]
    return bool(np.allclose(ends, theirs, rtol=1e-9, atol=1e-12, equal_nan=True))


def main() -> int:
    """Print every difference, and how much was compared."""
    command = [Path(sys.executable).with_name("benchbook"), "claims", "--reference", "--json"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = [*differences(judge_claims(), printed)]
    compared = sum(len(row["comparisons"]) for row in printed)
    print(
        *found, f"{len(printed)} claims, {compared} comparisons: {len(found)} differences", sep="\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
