"""The page of verdicts says how each machine-day moved them."""

from dataclasses import replace

from benchbook.analysis.runs import Run
from benchbook.analysis.verdicts import ClaimVerdict, Verdict, VerdictCounts
from benchbook.plots.provenance import describe_provenance
from checkout import ROOT
from tools.verdict_days import Day, name_cause


def make_verdict(name: str, verdict: Verdict, *counts: int) -> ClaimVerdict:
    """Return a verdict with its numbers of comparisons for, against and open."""
    for_, against, still_open = counts
    about = {"study": "crud", "says": "", "where": "", "claimed": "", "words": ""}
    one = ClaimVerdict(id=name, verdict=verdict, **about)
    return replace(one, for_=for_, against=against, open=still_open)


def test_a_day_lists_the_verdicts_that_it_moved_and_those_that_it_let_judge() -> None:
    before = [make_verdict("a", "undecided", 0, 0, 1), make_verdict("b", "not run", 0, 0, 0)]
    before.append(make_verdict("c", "holds", 2, 0, 0))
    after = [make_verdict("a", "holds", 1, 0, 0), make_verdict("b", "undecided", 0, 0, 1)]
    after.append(make_verdict("c", "undecided", 2, 0, 2))
    day = Day("a day", *({one.id: one for one in ones} for ones in (before, after)))
    assert (day.count_decided(), day.find_judged_first()) == (1, ["b"])
    assert [new.id for _, new in day.find_moves()] == ["a", "c"]
    assert name_cause(before[0], after[0]) == "blocks of the same comparisons"
    assert name_cause(before[2], after[2]) == "4 comparisons that count, not 2"


def test_the_page_ends_with_the_days_and_the_decided_claims_of_the_reference_run(
    reference_run: Run,
) -> None:
    """After a new reference, run the command at the end of the page."""
    page = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    table = page.partition("| machine-day | decided |")[2].partition("\n\n")[0]
    days = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    machine_days = describe_provenance(reference_run.means, reference_run.name)["machine_days"]
    assert {name for name, *_ in days} == {*machine_days}
    assert days[-1][1] == str(VerdictCounts.count(reference_run.analysis.verdicts).decided)
