"""The explorer's text: labels of what can be chosen, and sentences of answers.

Begin with `label_level`, `write_sentence` for your documents and `describe_comparison` for a study.
"""

import os
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from benchbook.analysis.claims import PaperComparisons
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.forecast import PARITY_WITHIN, Need, compute_detectable_ratio
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.own_data.file_description import FileDescription
from benchbook.papers import exhibits
from benchbook.plots import labels
from benchbook.registry.products import STORES, format_title
from benchbook.text.number_format import (
    format_count,
    format_interval,
    format_number,
    format_p_value,
    format_parts,
)

_METRIC_LABELS: Final = {
    "elapsed_time": "time until on all nodes",
    "time_per_item": "wall time per item",
    "catch_up_time": "catch-up time",
    "cpu_time": "CPU time",
    "cpu_user_time": "user CPU time",
    "cpu_system_time": "system CPU time",
    "cpu_percent": "CPU share",
    "cpu_user_percent": "user CPU share",
    "cpu_system_percent": "system CPU share",
    "cpu_capacity": "time of all processors",
    "idle_percent": "idle share",
    "memory_rss_mb": "resident memory (RSS)",
    "memory_pss_mb": "proportional memory (PSS)",
    "memory_change_kb": "new resident memory (RSS)",
    "heap_change": "new memory on the heap",
    "memory_percent": "memory share",
    "memory_used": "memory in use",
    "memory_total": "all memory",
    "markup_size": "markup",
    "markup_percent": "share of markup",
}
"""The labels of metrics that differ from the metrics' names."""

_FACTOR_LABELS: Final = {
    "json_codec": "JSON codec",
    "xml_codec": "XML codec",
    "held_mb": "held memory (MB)",
    "article_index": "index on articles",
}
"""The labels of factors that differ from the factors' names."""

_LEVEL_LABELS: Final[dict[str, Mapping[str, str]]] = {
    "language": labels.LANGUAGES,
    "format": labels.FORMATS,
    "codec": labels.CODECS,
    "json_codec": labels.CODECS,
    "xml_codec": labels.CODECS,
    "driver": {"mongoclient": "MongoClient", "mongoose": "Mongoose"},
    "network": {"none": labels.name_network("none")},
    "arrays": {"json": "arrays in a column of JSON", "table": "arrays in tables of their own"},
    "topology": {"single": "one node", "replicated": "two nodes, replicated"},
    "process": {
        "together": "both in one process",
        "apart": "each in a process of its own",
        "operation": "each operation in a process of its own",
        "warm": "both in one process, warmed up",
    },
}
"""The labels of levels that differ from the levels' names, by factor."""

_SELF_EXPLAINING: Final = {
    "database",
    "driver",
    "codec",
    "json_codec",
    "xml_codec",
    "format",
    "network",
    "process",
}
"""Factors whose levels are understood without the factor's name."""

ALIKE_WITHIN: Final = 1.1
"""Two levels are alike when the interval of their ratio lies within this factor."""

State: TypeAlias = Literal[
    "fastest",
    "slower",
    "alike",
    "undecided",
    "smallest",
    "larger",
    "too few blocks",
    "not compared",
]
"""What a level is compared with the fastest, or with the smallest."""


def label_control(name: str) -> str:
    """Return the label of the control that chooses a side, a quantity or a factor."""
    factor = label_factor(name)
    # A name of one letter, such as n, stays small.
    capitalised = factor if len(factor) == 1 else factor[0].upper() + factor[1:]
    return {"a": "This", "b": "over that", "measure": "Quantity"}.get(name, capitalised)


def label_factor(name: str) -> str:
    """Return the label of a factor."""
    return _FACTOR_LABELS.get(name, name.replace("_", " "))


def label_level(factor: str, value: object) -> str:
    """Return the label of a factor's level."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    level = str(value)
    if factor == "dataset_file":
        return Path(level).name
    if factor == "database":
        # A mapper over a database has the title of the database, so it needs its own label.
        return format_title(level) if level in STORES else labels.name_database(level)
    return _LEVEL_LABELS.get(factor, exhibits.name_levels(factor)).get(level, level)


def label_option(pairs: PaperComparisons, control: str, option: Any) -> str:
    """Return the label of an option that `benchbook.explorer.questions` offers in a control."""
    if control == "operation":
        return str(option).replace("_", " ")
    if control == "measure":
        role, metric = option
        return f"{_METRIC_LABELS.get(metric, metric.replace('_', ' '))}, {role}"
    if control in ("a", "b"):
        return pairs.words(option)
    return label_level(control, option)


def label_side(factor: str, level: object) -> str:
    """Return the label of a level where it is one side of a comparison."""
    label = label_level(factor, level)
    return label if factor in _SELF_EXPLAINING else f"{label_factor(factor)} = {label}"


def describe_comparison(row: Comparison) -> dict[str, str]:
    """Return the texts of a comparison: value, interval with blocks, sentence, note and test.

    A comparison without estimate has only a sentence.
    """
    words = write_comparison(row)
    texts = dict.fromkeys(("value", "between", "words", "open", "test"), "")
    texts["words"] = words[0].upper() + words[1:]
    if isnan(row.estimate):
        return texts

    # The value and its interval; a ratio has neither unit nor sign.
    ends = row.estimate, row.low, row.high
    blocks = format_count(row.blocks, "block")
    measured = f"{blocks} of {format_count(row.machine_days, 'machine-day')}"
    if row.kind == "ratio":
        value, interval = format_parts(*ends)[0], format_interval(*ends)
        texts["value"] = f"{value} ×"
    else:
        value, interval = format_parts(*ends, "+")[0], format_interval(*ends, row.unit, "+")
        texts["value"] = f"{value} {row.unit}"
    texts["between"] = f"99 % interval {interval}" if interval else "no interval"
    texts["between"] += f", {measured}"

    if row.kind == "ratio" and row.low <= 1 <= row.high and row.low < row.high:
        shown = format_number(compute_detectable_ratio(row))
        texts["open"] = (
            f"No difference shown: {blocks} can only show differences above {shown} times."
        )
    if not isnan(row.p):
        p = format_p_value(row.p)
        equal = "" if p.startswith("<") else "= "
        texts["test"] = f"Student's t = {row.t:.1f}, df = {row.df}, p {equal}{p}"
    return texts


def classify_level(row: Comparison) -> State:
    """Return the state of a level from its comparison with the fastest level."""
    if isnan(row.estimate):
        return "not compared"
    if isnan(row.low):
        return "too few blocks"
    if row.low > 1:
        return "slower"
    is_alike = row.low >= 1 / ALIKE_WITHIN and row.high <= ALIKE_WITHIN
    return "alike" if is_alike else "undecided"


def classify_fastest(rows: Sequence[Comparison]) -> State:
    """Return the state of the fastest level from the comparisons of all others with it."""
    states = {classify_level(row) for row in rows}
    for state in ("too few blocks", "undecided", "alike"):
        if state in states:
            return state
    return "fastest"


def write_sentence(operation: str, rows: Sequence[Comparison]) -> str:
    """Return which level was fastest and by how much, or between which it is undecided.

    Parameters
    ----------
    operation
        ``to write``.
    rows
        Each other level over the fastest, in ascending order of their estimates.
    """
    first = rows[0]
    before = f"{first.label}: " if first.label else ""
    fastest, blocks = first.b, min(row.blocks for row in rows)
    times = f"{first.a} took {first.words} times as long"
    if first.reason and isnan(first.estimate):
        return f"{before}{first.a} and {fastest} {operation}: {first.reason}."
    if blocks < MIN_BLOCKS:
        measured = format_count(blocks, "block")
        return f"{before}{times} {operation} as {fastest}, in {measured}: no interval."

    # The other levels that may be as fast as the fastest.
    near = [row for row in rows if not row.low > 1]
    names = [fastest, *(row.a for row in near)]
    if near and all(classify_level(row) == "alike" for row in near):
        within = f"within {100 * (ALIKE_WITHIN - 1):.0f} %"
        return f"{before}{_list_names(names, 'and')} are alike {operation}, {within}."
    if near:
        faster = "faster" if len(near) == 1 else "fastest"
        undecided = "undecided" if before else "Undecided"
        return f"{before}{undecided} which is {faster} {operation}: {_list_names(names, 'or')}."
    if len(rows) == 1:
        return f"{before}{times} {operation} as {fastest}."
    return f"{before}{fastest} was the fastest {operation}; the next, {times}."


def _list_names(names: Sequence[str], last: str) -> str:
    """Return names as a list: ``a, b or c``."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def describe_need(need: Need, blocks: int, *, noisy: bool = False) -> str:
    """Describe the blocks that would decide a comparison, as a sentence without its full stop.

    Parameters
    ----------
    need
        Blocks or machine-days that are missing.
    blocks
        How many blocks ran.
    noisy
        Whether other programs were busy meanwhile.
    """
    if need.parity:
        return f"Will not be decided: parity within {100 * (PARITY_WITHIN - 1):.0f} %"
    if need.interval:
        missing = format_count(need.blocks, "more block")
        return f"An interval needs {missing}: --blocks {MIN_BLOCKS}"
    if need.blocks:
        missing = format_count(need.blocks, "more block")
        return f"About {missing} would settle it: --blocks {blocks + need.blocks}"
    if need.days:
        days = "another day" if need.days == 1 else f"each of {need.days} other days"
        missing = f"{MIN_BLOCKS} more blocks on {days}"
        return f"About {missing} would settle it: --blocks {blocks + MIN_BLOCKS}"
    return "More blocks will hardly settle it" + (" while other programs are busy" if noisy else "")


def mark_noisy_blocks(noisy: int, blocks: int) -> str:
    """Return in how many blocks other programs were busy; empty without such blocks."""
    return f"noisy: {noisy} of {format_count(blocks, 'block')}" if noisy else ""


def describe_scope(measured: int, known: FileDescription, blocks: int) -> str:
    """Return how much of a file is measured, and how to measure more, in one line.

    Parameters
    ----------
    measured
        How many records are measured.
    known
        The description of the file's first records, as many of them.
    blocks
        How often each cell is measured.
    """
    records = known.records
    if not known.is_whole or measured < records:
        scope = f"the first {format_count(measured, 'record')} of your file (more: --records)"
    elif measured == records:
        scope = f"all {format_count(records, 'record')}"
    else:
        scope = f"your {format_count(records, 'record')}, repeated up to {measured:,}"
    often = format_count(blocks, "block")
    if blocks == MIN_BLOCKS:
        often += " (the least for an interval)"
    elif blocks < MIN_BLOCKS:
        often += f" (an interval needs {MIN_BLOCKS})"
    return f"Measured: {scope}, in {often}."


def omit_folder(words: str, file: Path) -> str:
    """Return a message about a file without the file's folder.

    A file that was picked in a browser is a copy in another folder.
    """
    return words.replace(f"{file.parent}{os.sep}", "")


_TIME_PHRASE: Final = "took {} times as long as"
_RATIO_PHRASES: Final = {
    "wall_time": _TIME_PHRASE,
    "elapsed_time": _TIME_PHRASE,
    "catch_up_time": _TIME_PHRASE,
    "time_per_item": "took {} times as long an object as",
    "size": "takes {} times the bytes of",
    "markup_size": "takes {} times the bytes of markup of",
    "bytes_received": "sent {} times the bytes of",
    "bandwidth": "used {} times the bandwidth of",
    "card_bytes_sent": "put {} times the bytes on the network of",
    "card_bytes_received": "took {} times the bytes off the network of",
    "cpu_time": "used {} times the CPU time of",
    "memory_rss_mb": "held {} times the memory of",
}


def write_comparison(row: Comparison) -> str:
    """Return the result of a comparison in a sentence."""
    if isnan(row.estimate):
        return f"{row.a} against {row.b}: {row.reason}."
    if row.kind == "difference":
        text = f"{row.a} differed from {row.b} by {row.words}"
    else:
        other = f"had {{}} times the {row.metric.replace('_', ' ')} of"
        phrase = _RATIO_PHRASES.get(row.metric, other)
        text = f"{row.a} {phrase.format(row.words)} {row.b}"
    days = format_count(row.machine_days, "machine-day")
    text += f", in {format_count(row.blocks, 'block')} of {days}"
    if row.reason:
        text += f"; {row.reason}"
    if not isnan(row.published):
        ratio = format_number(row.published)
        text += f"; the paper's ratio is {ratio} ({row.published_source})"
    return f"{text}."
