"""What the lessons' data, the papers, the code and the notebooks give for the numbers in texts."""

import ast
import inspect
import re
from collections.abc import Callable
from functools import cache, partial
from math import comb
from typing import Any, Final

import nbformat
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchbook.analysis.intervals import CONFIDENCE, compute_interval
from benchbook.analysis.published import find_published_value, load_published_numbers
from benchbook.analysis.steadiness import find_steady_state
from benchbook_lessons import critique, defence, documents, drift, effects, t_tests, warm_up
from checkout import ROOT
from tools import lessons

WORDS: Final = {
    2: "two",
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
    10: "ten",
    20: "twenty",
    30: "thirty",
}
TEACHERS: Final = lessons.list_teachers()
TUTORIAL: Final = (ROOT / "docs" / "tutorial.md").read_text()
CLASS: Final = 30
"""How many students docs/teaching.md computes with."""

PERCENT: Final = f"{CONFIDENCE:.0%}".replace("%", " %")


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def word(number: int) -> str:
    return WORDS[number]


# Notebooks and pages


@cache
def read_lesson(number: int) -> Any:
    return nbformat.read(TEACHERS[number - 1], 4)


def read_code(number: int) -> str:
    return "\n".join(cell.source for cell in read_lesson(number).cells if cell.cell_type == "code")


def read_minutes(number: int) -> int:
    return int(re.findall(r"\*\*About (\d+) minutes", read_lesson(number).cells[0].source)[0])


def list_minutes() -> list[int]:
    return [read_minutes(number) for number in range(1, len(TEACHERS) + 1)]


def read_default(function: Callable[..., Any], name: str) -> Any:
    """Return the default value of a function's parameter."""
    return inspect.signature(function).parameters[name].default


def sum_points(number: int, kind: str) -> int:
    cells = [cell for cell in read_lesson(number).cells if cell.cell_type == kind]
    return sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in cells)


def find_sizes(command: str) -> tuple[str, str]:
    """Return the download and the size on disk of a command in docs/tutorial.md."""
    rows = [line for line in TUTORIAL.splitlines() if line.strip().startswith("| `make ")]
    row = next(line for line in rows if f"`make {command}`" in line)
    download, disk = re.findall(r"[\d.]+ [MG]B", row)
    return download, disk


def compute_minutes(command: str, mbit_per_s: float) -> float:
    """Return how long a command's download takes."""
    megabytes = float(find_sizes(command)[0].split()[0])
    return megabytes * 8 / mbit_per_s / 60


def find_class_sizes() -> tuple[str, str, str]:
    """Return a class's download in GB, its minutes on 50 Mbit/s, to the ten, and GB on disk."""
    download, disk = (float(size.split()[0]) for size in find_sizes("lessons"))
    minutes = CLASS * compute_minutes("lessons", 50)
    return f"{CLASS * download / 1e3:.1f}", f"{round(minutes, -1):.0f}", f"{CLASS * disk:.0f}"


def find_oldest_python() -> str:
    return re.findall(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())[0]


def find_cell_limit() -> str:
    """Return after how many seconds nbgrader stops a cell."""
    settings = (ROOT / "notebooks" / "lessons" / "nbgrader_config.py").read_text()
    return re.findall(r"Execute\.timeout = (\d+)", settings)[0]


# Lesson 1

TCP_MS: Final = find_published_value("tcp", "Table 1", "Total Time", "XML")
CRUD_MS: Final = find_published_value("crud", "Table II", "CouchDB", "1000")
COMMENT_BYTES: Final = 1_000


def find_printed_minutes() -> str:
    """Return the minutes that the paper prints for `TCP_MS`: their further digits are cut off."""
    rows = load_published_numbers("tcp").query("source == 'Table 6' and column == 'XML'")
    printed = str(rows.set_index("row")["printed"]["Scenario 1 Total Time"]).split()[0]
    assert printed == f"{TCP_MS // 600 / 100:.2f}"
    return printed


def count_printed_objects() -> int:
    return int(find_published_value("tcp", "Table 1", "Number Of Objects", "XML"))


def compute_insert_rate(comments: int = 1_000) -> float:
    """Return the rate of the printed inserts into CouchDB, in MB/s."""
    printed = find_published_value("crud", "Table II", "CouchDB", str(comments))
    return comments * COMMENT_BYTES / 1e6 / (printed / 1e3)


# Lesson 2


def count_java_repetitions() -> int:
    (count,) = {len(times) for times in warm_up.load_blocks(1, "json")}
    return count


def compute_xml_ratio(start: int, end: int | None = None) -> float:
    """Return XML / JSON at one book in Java over some repetitions."""
    json, xml = (
        [times[start:end].mean() for times in warm_up.load_blocks(1, format)]
        for format in ("json", "xml")
    )
    return float(stats.gmean(xml) / stats.gmean(json))


def is_all_nearest_to_the_paper() -> bool:
    printed = compute_printed_ratio()
    distances = [abs(np.log(compute_xml_ratio(*span) / printed)) for span in [(0,), (0, 1), (50,)]]
    return bool(np.argmin(distances) == 0)


def find_printed_times() -> tuple[str, str]:
    rows = load_published_numbers("bookstore").query("source == 'Case 1 table' and row == '1'")
    printed = rows.set_index("column")["printed"]
    return printed["XML time"], printed["JSON time"]


def compute_printed_ratio() -> float:
    xml, json = map(float, find_printed_times())
    return xml / json


def count_marshallings() -> int:
    """Return how often lesson 2 measures in each Python process."""
    return int(re.findall(r"range\((\d+)\)", warm_up._FRESH)[0])


def does_the_first_stand_out() -> bool:
    """Return whether each Java process's first round trip is above ten times its median."""
    blocks = [*warm_up.load_blocks(1, "json"), *warm_up.load_blocks(1, "xml")]
    return all(times[0] > 10 * np.median(times) for times in blocks)


def does_the_eighth_stand_out() -> bool:
    """Return whether the first format's eighth repetition is twice the one before."""
    begun = [*warm_up.load_blocks(1, "xml")[::2], *warm_up.load_blocks(1, "json")[1::2]]
    return all(times[7] > 2 * times[6] for times in begun)


def count_processes() -> int:
    return len(warm_up.load_blocks(1, "xml"))


def load_firsts(format: str) -> NDArray[np.float64]:
    """Return the first repetition of each of lesson 2's Java processes at one book."""
    return np.array(warm_up.load_blocks(1, format))[:, 0]


def count_faster_firsts() -> int:
    """Return in how many Java processes XML's first repetition is faster than JSON's."""
    return int((load_firsts("xml") < load_firsts("json")).sum())


def compute_first_ratio(begun_by: str) -> float:
    """Return XML / JSON of the first repetitions, in the processes that a format begins."""
    which = slice(0, None, 2) if begun_by == "xml" else slice(1, None, 2)
    return float(stats.gmean(load_firsts("xml")[which]) / stats.gmean(load_firsts("json")[which]))


def does_it_cost_to_go_first() -> bool:
    """Return whether a format's first repetition takes longer in the processes that it begins.

    The processes of a block are neighbours: XML begins the one, JSON the next.
    """
    xml, json = load_firsts("xml"), load_firsts("json")
    return bool((xml[::2] > xml[1::2]).all() and (json[::2] < json[1::2]).all())


def do_times_still_fall() -> bool:
    """Return whether the repetitions after the 50th are faster than those from 25 to 50."""
    pairs = [(times[24:50].mean(), times[50:].mean()) for times in warm_up.load_blocks(1, "json")]
    early, late = np.array(pairs).T
    return bool(stats.gmean(late) < stats.gmean(early))


def are_some_never_steady() -> bool:
    series = []
    for n in (1, 100, 1_000, 10_000):
        series += warm_up.load_blocks(n, "json")
    return any(find_steady_state(times).start is None for times in series)


def count_steady(n: int) -> int:
    """Return how many Java processes reach a steady state of JSON at n books."""
    starts = [find_steady_state(times).start for times in warm_up.load_blocks(n, "json")]
    return len(starts) - starts.count(None)


# Lesson 3


def count_books() -> int:
    """Return the number of books of lesson 3's round trips."""
    return int(re.findall(r"n=(\d+)", inspect.getsource(drift.load_identical_arms))[0])


def compute_half_widths() -> tuple[str, str, str]:
    """Return the 99 % interval's half-width by repetition, by block and by the day rule."""
    found = drift.load_identical_arms()
    widths = []
    for values in (found["us"], found.groupby("block")["us"].mean()):
        reach = stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * stats.sem(values)
        widths.append(percent(reach / values.mean()))
    return widths[0], widths[1], percent(drift.compute_daily_half_width())


def count_blocks() -> tuple[int, int]:
    """Return how many blocks lesson 3 shows, and how many repetitions each has."""
    sizes = drift.load_identical_arms().groupby("block").size()
    assert sizes.nunique() == 1
    return len(sizes), int(sizes.iloc[0])


def count_looks() -> int:
    return drift.simulate_peeks(2).shape[1]


def are_blocks_slow(first: int, last: int) -> bool:
    """Return whether each block of a range in lesson 3 is slower than all others."""
    means = drift.load_identical_arms().groupby("block")["us"].mean()
    return bool(means.loc[first:last].min() > means.drop(range(first, last + 1)).max())


def compute_false_alarms(order: str, test: str) -> float:
    arms = drift.split_arms(drift.simulate_machines(2_000, 60), order)
    if test == "welch":
        return float((stats.ttest_ind(*arms, axis=1, equal_var=False).pvalue < 0.05).mean())
    return float((stats.ttest_rel(*arms, axis=1).pvalue < 0.05).mean())


def is_it_the_order() -> bool:
    """Return whether order and test err as the answer to Discuss 1 of lesson 3 says."""
    in_sequence, alternating = "a" * 30 + "b" * 30, "abba" * 15
    return (
        compute_false_alarms(alternating, "welch") < 0.025
        and 0.03 < compute_false_alarms(alternating, "paired") < 0.07
        and compute_false_alarms(in_sequence, "paired") > 0.5
        and compute_false_alarms(in_sequence, "welch") > 0.5
    )


def is_a_block_alike() -> bool:
    """Return whether repetitions vary less within a block than from block to block."""
    groups = [np.log(rows) for _, rows in drift.load_identical_arms().groupby("block")["us"]]
    return bool(np.mean([rows.var() for rows in groups]) < np.var([rows.mean() for rows in groups]))


# Lesson 4


def count_read_values() -> int:
    """Return how many numbers XML's printed system CPU is if a comma ends each."""
    printed = t_tests.load_printed("System CPU")["XML"]
    return len(",".join(printed).split(","))


@cache
def load_sample(measure: str) -> NDArray[np.float64]:
    """Return a measure's five trials: JSON's and XML's row."""
    return np.array(t_tests.load_samples(measure))


def count_extreme_splits(measure: str) -> int:
    """Return how many splits differ at least as much as the measured one."""
    return round(t_tests.compute_split_share(measure) * comb(10, 5))


def compute_p(measure: str) -> float:
    return float(stats.ttest_ind(*load_sample(measure)).pvalue)


def find_printed_p(measure: str) -> str:
    return str(t_tests.load_table_8()[measure])


def format_span(values: NDArray[np.float64]) -> tuple[str, str]:
    return f"{min(values):.0f}", f"{max(values):.0f}"


def find_system_shares() -> tuple[str, str, str]:
    json, xml = load_sample("System CPU").mean(axis=1)
    return f"{xml:.0f}", f"{json:.0f}", f"{xml / json:.1f}"


def count_higher_trials() -> int:
    json, xml = load_sample("User CPU")
    return int((json > xml).sum())


def find_user_shares() -> tuple[str, ...]:
    json, xml = load_sample("User CPU")
    return (*format_span(json[1:]), *format_span(xml))


def compute_time_ratios() -> NDArray[np.float64]:
    json, xml = load_sample("Total Time")
    ratios: NDArray[np.float64] = xml / json
    return ratios


def compute_paired_end() -> float:
    """Return the upper end of the interval of the five pairs of total times."""
    json, xml = np.log(load_sample("Total Time"))
    return float(np.exp(stats.ttest_rel(xml, json).confidence_interval(CONFIDENCE).high))


def fit_fixed_time(side: int) -> float:
    """Return the fixed part of JSON's (0) or XML's (1) total times, by a line through all five."""
    return float(np.polyfit(t_tests.OBJECTS, load_sample("Total Time")[side], 1)[1])


def predict_first_trial(side: int) -> tuple[float, float]:
    """Return JSON's (0) or XML's (1) first total time by the line of the others, and as printed."""
    times = load_sample("Total Time")[side]
    line = np.polyfit(t_tests.OBJECTS[1:], times[1:], 1)
    return float(np.polyval(line, t_tests.OBJECTS[0])), float(times[0])


def is_memory_alike() -> bool:
    json, xml = load_sample("Memory")
    return bool(abs(xml - json).max() < 1)


# Lesson 5


@cache
def load_case(name: str) -> Any:
    return effects.load_cases().loc[name]


def list_stars() -> list[str]:
    cases = effects.load_cases()
    return list(cases.index[cases["p"] < 0.05])


def find_answer(name: str) -> str:
    return effects.judge_interval(load_case(name)["low"], load_case(name)["high"])


def read_margin() -> float:
    return float(read_default(effects.judge_interval, "margin"))


def count_design_days() -> tuple[int, int]:
    """Return how many days lesson 5's two designs need."""
    together, apart = effects.compute_spreads()
    return (
        effects.count_needed_days(together, read_margin()),
        effects.count_needed_days(apart, read_margin()),
    )


def count_days_of_e() -> tuple[int, str]:
    """Return how many blocks case E has, and of how many days."""
    days = effects.load_one_book()[2]
    return len(days), word(len(np.unique(days)))


def is_a_draw_of_days_narrower() -> bool:
    """Return whether draws of whole days vary less than draws of blocks, in lesson 5's star."""
    xml, json, days = effects.load_java_books()
    logs = np.log(xml) - np.log(json)
    random = np.random.default_rng(1)
    of_blocks = [random.choice(logs, len(logs)).mean() for _ in range(2_000)]
    of_days = [logs[days == day].mean() for day in np.unique(days)]
    return bool(np.ptp(of_days) < np.ptp(np.quantile(of_blocks, [0.005, 0.995])))


def compute_independent_interval() -> tuple[float, float]:
    """Return the ends of case E's interval if its blocks were independent."""
    a, b, _ = effects.load_one_book()
    test = stats.ttest_1samp(np.log(a) - np.log(b), 0)
    low, high = np.exp(test.confidence_interval(CONFIDENCE))
    return float(low), float(high)


def compute_width(blocks: int, days: int = 1) -> float:
    """Return the width of an interval of blocks that vary alike, over some days."""
    values = stats.norm.ppf((np.arange(blocks) + 0.5) / blocks)
    values = np.random.default_rng(1).permutation(values / values.std(ddof=1))
    found = compute_interval(values, np.arange(blocks) % days)
    return float(found.high - found.low)


def find_plan() -> tuple[float, float]:
    """Return the standard deviation and the margin of lesson 5's third prediction."""
    sd, margin = re.findall(
        r"days_for_two_percent=lesson.count_needed_days\(([\d.]+), ([\d.]+)\)", read_code(5)
    )[0]
    return float(sd), float(margin)


def are_ratios_near_one(*names: str) -> bool:
    return all(0.95 < load_case(name)["ratio"] < 1.05 for name in names)


# Lesson 6


def find_printed_size(format: str) -> str:
    rows = load_published_numbers("bookstore").query("source == 'Case 1 table' and row == '10000'")
    return str(rows.set_index("column")["printed"][f"{format} size"])


def compute_size(n: int, format: str) -> float:
    """Return the size of a bookstore, in MB."""
    return len(documents.encode_bookstore(n, format)) / 1e6


def compute_size_ratio(packed: bool = False) -> float:
    """Return the length of XML over that of JSON for 1,000 books."""
    import gzip

    pack: Callable[[bytes], bytes] = partial(gzip.compress, mtime=0) if packed else bytes
    json, xml = (len(pack(documents.encode_bookstore(1_000, name))) for name in ("json", "xml"))
    return xml / json


# Lesson 9


@cache
def read_example(name: str) -> str:
    """Return the lines of the example pair, ``ours``, or of its attackers, ``theirs``."""
    (text,) = re.findall(rf'^{name} = """\n(.*?)"""', read_code(9), re.DOTALL | re.MULTILINE)
    return text


@cache
def read_example_plan() -> dict[str, Any]:
    """Return the example pair's plan."""
    plan: dict[str, Any] = ast.literal_eval(
        re.findall(r"^plan = (\{.*?^\})", read_code(9), re.DOTALL | re.MULTILINE)[-1]
    )
    return plan


def compute_example(name: str, over: str = "b") -> tuple[float, float, float]:
    return defence.compute_sides(defence.read_lines(read_example(name)), over)


def judge_example(name: str, over: str = "b") -> str:
    """Return the verdict of the example's lines by its plan."""
    _, low, high = compute_example(name, over)
    return effects.judge_interval(low, high, read_example_plan()["margin"])


def count_planned_days() -> int:
    return read_example_plan()["days"] * read_example_plan()["laptops"]


# Lessons 7 and 8


def find_records(divisor: int) -> int:
    """Return how many records lesson 7 writes, by what it divides its parameter by."""
    return int(re.findall(r"^records = (\d+)", read_code(7), re.MULTILINE)[0]) // divisor


def find_couchbase_times(comments: int) -> tuple[str, str]:
    """Return the times that the paper prints for inserts, without and with a replica."""
    rows = load_published_numbers("crud").query("row == 'Couchbase'")
    rows = rows[rows["column"] == str(comments)].set_index("source")
    return rows.loc["Table II", "printed"], rows.loc["Table III", "printed"]


def compute_idle_share() -> float:
    """Return the share of the suite's claims that the lesson's data cannot judge."""
    verdicts = critique.judge_suite_claims()
    return float(verdicts.isin(["not run", "not comparable"]).mean())


@cache
def judge_model_claim() -> Any:
    """Return the comparisons of the model answer's claim in lesson 8."""
    text = re.findall(r'mine = """\\\n(.*?)"""', read_code(8), re.DOTALL)[0]
    return critique.judge_claim(text)


def format_comparison(at: int) -> tuple[str, str, str, int]:
    row = judge_model_claim().iloc[at]
    return f"{row['ratio']:.2f}", f"{row['low']:.2f}", f"{row['high']:.2f}", row["blocks"]


def is_model_claim_undecided() -> bool:
    return set(judge_model_claim()["stands"]) == {"open"}
