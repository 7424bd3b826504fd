"""Verdicts of the reference run as each further machine-day moved them, in Markdown.

``tools.verdict_changes`` writes them into ``docs/verdicts.md``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchbook.analysis.runs import Analysis, load_reference_means
from benchbook.analysis.verdicts import DECIDED, ClaimVerdict
from benchbook.text.number_format import format_count

UNJUDGED = ("not run", "not comparable")
"""The verdicts of claims of which nothing that counts was measured."""


@dataclass(frozen=True)
class Day:
    """A machine-day, and the verdicts before and after its blocks were added."""

    name: str
    before: dict[str, ClaimVerdict]  # by the claim's id
    after: dict[str, ClaimVerdict]

    def count_decided(self) -> int:
        """Return how many claims are decided with the blocks of this day and of those before."""
        return sum(one.verdict in DECIDED for one in self.after.values())

    def find_judged_first(self) -> list[str]:
        """Return the claims that this day let judge."""
        judged = [
            {name for name, one in verdicts.items() if one.verdict not in UNJUDGED}
            for verdicts in (self.before, self.after)
        ]
        return sorted(judged[1] - judged[0])

    def find_moves(self) -> list[tuple[ClaimVerdict, ClaimVerdict]]:
        """Return the verdicts, of claims judged before, that this day moved; each with its old."""
        pairs = [(old, self.after[name]) for name, old in self.before.items()]
        moves = [(old, new) for old, new in pairs if old.verdict != new.verdict]
        return [(old, new) for old, new in moves if old.verdict not in UNJUDGED]


def judge_days() -> Iterator[Day]:
    """Yield the machine-days of the reference run in their order, each judged with all before."""
    means = load_reference_means()
    names = means["machine_day"].unique().tolist()
    names.sort(key=lambda name: (name.rpartition(" ")[2], name))
    before: dict[str, ClaimVerdict] = {}
    for number, name in enumerate(names, 1):
        measured = means[means["machine_day"].isin(names[:number])]
        after = {one.id: one for one in Analysis(measured).verdicts}
        yield Day(name, before, after)
        before = after


def name_cause(old: ClaimVerdict, new: ClaimVerdict) -> str:
    """Return the reason why a machine-day moved a claim that was judged before."""
    ran = [one.for_ + one.against + one.open for one in (old, new)]
    if ran[0] != ran[1]:
        return f"{format_count(ran[1], 'comparison')} that count, not {ran[0]}"
    return "blocks of the same comparisons"


def render() -> list[str]:
    """Return the section: how many claims each day left decided, and the verdicts that moved."""
    counts, moved, refuted = list[str](), list[str](), list[str]()
    for day in judge_days():
        first, moves = len(day.find_judged_first()), day.find_moves()
        counts.append(f"| {day.name} | {day.count_decided()} | {first} | {len(moves)} |")
        for old, new in moves:
            texts = [f"{one.verdict}, {one.for_}–{one.against}–{one.open}" for one in (old, new)]
            cells = [day.name, new.id, *texts, name_cause(old, new)]
            moved.append(f"| {' | '.join(cells)} |")
            if "does not hold" in (old.verdict, new.verdict) and old.verdict in DECIDED:
                refuted.append(new.id)
    reversal = ", ".join(refuted) or "none"
    return [
        "### With each machine-day",
        "",
        "Today's rule judges the reference run's blocks, one machine-day after the other. The "
        "column *judged first* counts claims that nothing measured before could answer. "
        f"Claims that were decided and then moved to or from *does not hold*: {reversal}.",
        "",
        "<details><summary>the verdicts that each further machine-day moved, and why</summary>",
        "",
        "| machine-day | decided | judged first | moved |",
        "|---|--:|--:|--:|",
        *counts,
        "",
        "Beside a verdict are its comparisons for the claim, against it and open.",
        "",
        "| machine-day | claim | before | after | what the day added |",
        "|---|---|---|---|---|",
        *moved,
        "",
        "</details>",
        "",
    ]
