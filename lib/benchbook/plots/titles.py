"""Titles that say what came out: ``MongoDB inserts faster than MySQL at n = 10,000 and more``.

`write_result` writes one from the comparisons of a claim. It is empty where none is decided.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from benchbook.analysis.comparisons import Comparison, judge_comparison
from benchbook.text.sentences import join_names

_N: Final = "n\u00a0=\u00a0"
"""The beginning of a number of records, which stays on a line with the number."""


def write_result(
    comparisons: Iterable[Comparison],
    name: Callable[[Comparison], str],
    *,
    subject: str,
    more: str,
    less: str,
    link: str,
) -> str:
    """Return a figure's result in a sentence without its point; empty where nothing is decided.

    Parameters
    ----------
    comparisons
        Of one claim, or of claims on one quantity. Those that are not comparable are left out.
    name
        Names what a comparison is about. The sentence speaks of a name and an n only where all of
        its comparisons are decided, and on the same side.
    subject
        How the sentence begins: ``MongoDB inserts``.
    more, less
        Its words where a is larger and where it is smaller: ``more slowly``, ``faster``.
    link
        The word before the names: ``than``.
    """
    # The sides on which the comparisons of each name lie, by their n.
    sides: dict[str, dict[int, set[int]]] = {}
    for row in comparisons:
        if row.stands in ("for", "against", "open"):
            by_n = sides.setdefault(name(row), {})
            by_n.setdefault(row.n or 0, set()).add(find_side(row))

    # On each side, names that are decided at the same n share a part of the sentence.
    parts: dict[int, dict[str, list[str]]] = {}
    for named, by_n in sides.items():
        for side in (-1, 1):
            decided = [n for n, found in by_n.items() if found == {side}]
            if decided:
                sizes = describe_sizes(decided, [*by_n])
                parts.setdefault(side, {}).setdefault(sizes, []).append(named)

    # The side with more names first, and on each side the names at all n.
    clauses = []
    for side in sorted(parts, key=lambda side: -sum(map(len, parts[side].values()))):
        linked = []
        for sizes, names in sorted(parts[side].items()):
            linked.append(f"{link} {join_names(names, 'and')}{sizes}")
        clauses.append(f"{more if side > 0 else less} {', and '.join(linked)}")
    return f"{subject} {', and '.join(clauses)}" if clauses else ""


def find_side(row: Comparison) -> int:
    """Return 1 where a is decidedly larger than b, -1 where it is smaller, 0 where it is open."""
    row = replace(row, claimed="different", than=1.0)
    if judge_comparison(row) != "for":
        return 0
    no_difference = 1.0 if row.kind == "ratio" else 0.0
    return 1 if row.estimate > no_difference else -1


def describe_sizes(decided: Sequence[int], ran: Sequence[int]) -> str:
    """Return at which of the sizes that ran something was decided; empty where at all of them."""
    decided, ran = sorted(decided), sorted(ran)
    if decided == ran:
        return ""
    if len(decided) > 1 and decided == ran[-len(decided) :]:
        return f" at {_N}{decided[0]:,} and more"
    return f" at {_N}{join_names([f'{n:,}' for n in decided], 'and')}"
