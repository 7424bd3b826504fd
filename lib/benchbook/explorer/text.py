"""The explorer's text: labels of what can be chosen, and sentences of answers.

Begin with `label_option`, `write_sentence` for your documents, `describe_comparison` for studies.
"""

import os
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from benchbook.analysis.claims import PaperComparisons
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.forecast import Need, compute_detectable_ratio
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.own_data.file_description import FileDescription
from benchbook.registry.products import name_level
from benchbook.text.names import name_factor, name_metric
from benchbook.text.number_format import (
    choose_unit,
    format_count,
    format_number,
    format_p_value,
    format_parts,
)
from benchbook.text.sentences import (
    NEAR_PARITY,
    TIME_RATIO,
    count_blocks,
    join_names,
    write_comparison,
    write_interval,
    write_paper_ratio,
)

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
    factor = name_factor(name)
    # A name of one letter, such as n, stays small.
    capitalised = factor if len(factor) == 1 else factor[0].upper() + factor[1:]
    return {"a": "This", "b": "over that", "measure": "Quantity"}.get(name, capitalised)


def label_option(pairs: PaperComparisons, control: str, option: Any) -> str:
    """Return the label of an option that `benchbook.explorer.questions` offers in a control."""
    if control == "operation":
        return str(option).replace("_", " ")
    if control == "measure":
        role, metric = option
        return f"{name_metric(metric)}, {role}"
    if control in ("a", "b"):
        return pairs.words(option)
    return name_level(control, option)


def describe_comparison(row: Comparison) -> dict[str, str]:
    """Return the texts of a comparison: value, interval with blocks, sentence, note and test.

    A comparison without estimate has only a sentence.
    """
    words = write_result(row)
    texts = dict.fromkeys(("value", "between", "words", "open", "test"), "")
    texts["words"] = words[0].upper() + words[1:]
    if isnan(row.estimate):
        return texts

    # The value and its interval; a ratio has neither unit nor sign.
    size, unit, sign = 1.0, "", ""
    if row.kind == "difference":
        size, unit = choose_unit((row.estimate, row.low, row.high), row.unit)
        sign = "+"
    ends = row.estimate / size, row.low / size, row.high / size
    texts["value"] = f"{format_parts(*ends, sign)[0]} {unit or '×'}"
    interval = write_interval(*ends, unit, sign)
    texts["between"] = f"{interval}, {count_blocks(row.blocks, row.machine_days)}"

    if row.kind == "ratio" and row.low <= 1 <= row.high and row.low < row.high:
        blocks, least = format_count(row.blocks, "block"), compute_detectable_ratio(row)
        shown = f"{blocks} can only show differences above {format_number(least)} times"
        texts["open"] = f"No difference shown: {shown}."
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
    times = f"{first.a} took {TIME_RATIO.format(first.words)}"
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
        return f"{before}{join_names(names, 'and')} are alike {operation}, {within}."
    if near:
        faster = "faster" if len(near) == 1 else "fastest"
        undecided = "undecided" if before else "Undecided"
        return f"{before}{undecided} which is {faster} {operation}: {join_names(names, 'or')}."
    if len(rows) == 1:
        return f"{before}{times} {operation} as {fastest}."
    return f"{before}{fastest} was the fastest {operation}; the next, {times}."


def describe_need(need: Need, blocks: int, *, noisy: bool = False) -> str:
    """Describe the blocks that would decide a comparison, as a sentence without its full stop.

    It fits a terminal and a notebook: it names no option.

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
        return NEAR_PARITY.capitalize()
    if need.interval:
        missing = format_count(need.blocks, "more block")
        return f"An interval needs {missing}: {MIN_BLOCKS} in all"
    if need.blocks:
        missing = format_count(need.blocks, "more block")
        return f"About {missing} would settle it: {blocks + need.blocks} in all"
    if need.days:
        days = "another day" if need.days == 1 else f"each of {need.days} other days"
        missing = f"{MIN_BLOCKS} more blocks on {days}"
        return f"About {missing} would settle it: {blocks + MIN_BLOCKS} in all"
    return "More blocks will hardly settle it" + (" while other programs are busy" if noisy else "")


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
        scope = f"the first {format_count(measured, 'record')} of your file"
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


def write_result(row: Comparison) -> str:
    """Return the result of a comparison in a sentence."""
    if isnan(row.estimate):
        return f"{row.a} against {row.b}: {row.reason}."
    text = write_comparison(row.a, row.b, row.kind, row.metric, row.words)
    text += f", in {count_blocks(row.blocks, row.machine_days)}"
    if row.reason:
        text += f"; {row.reason}"
    if not isnan(row.published):
        text += f"; {write_paper_ratio(row.published, row.metric)} ({row.published_source})"
    return f"{text}."
