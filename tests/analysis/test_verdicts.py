"""The rule of judging: intervals, comparisons, verdicts and their sentences."""

import json
import re
import sys
from dataclasses import replace
from math import exp, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from benchbook import cli, grid, paths
from benchbook.analysis import runs
from benchbook.analysis.block_means import compute_block_means
from benchbook.analysis.claim_comparisons import compare_claims
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import Claim, MeasuredClaim
from benchbook.analysis.comparisons import Comparison, judge_comparison
from benchbook.analysis.forecast import compute_half_width, compute_spread, forecast_outcomes
from benchbook.analysis.intervals import compute_interval
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import (
    VERDICTS,
    ClaimVerdict,
    VerdictCounts,
    choose_headline,
    judge_claims,
    judge_counts,
)
from benchbook.cli.command import DONE, USAGE
from benchbook.results.folder import open_results
from benchbook.runner import batch
from benchbook.studies.catalogue import load_study
from benchbook.text.sentences import NEAR_PARITY
from checkout import ROOT
from constructed import observations

TIME = {"operation": "insert", "role": "client", "metric": "elapsed_time"}
PRODUCTS = ("mongodb", "postgresql+jsonb", "postgresql+relational")


def row(low: float = nan, high: float = nan, claimed: str = "more", **parts: Any) -> Comparison:
    """Return a comparison of MongoDB with PostgreSQL, with an SDM of 10 %."""
    about = {
        "study": "crud",
        "name": "crud.it",
        "language": "python",
        "unit": "ns",
        "settings": {},
        "n": 1000,
    }
    about |= {
        "a": "MongoDB",
        "b": "PostgreSQL",
        "label": "n=1000",
        "margin": 1.1,
        "claimed": claimed,
        **TIME,
    }
    estimate = nan if isnan(low) else (low + high) / 2
    return Comparison(**{**about, "estimate": estimate, "low": low, "high": high, **parts})


def claim(compare: str = "ratio", claimed: Any = "more", **parts: Any) -> Claim:
    """Return a claim on the time of inserts, MongoDB's over PostgreSQL's as JSONB."""
    sides = (
        {"a": {"database": PRODUCTS[0]}, "b": {"database": PRODUCTS[1]}}
        if compare == "ratio"
        else {}
    )
    about = {
        "id": "crud.it",
        "says": "It is so.",
        "where": "page 1",
        "margin": 1.1,
        "why_margin": "so",
    }
    stated = {**about, "quantity": TIME, "compare": compare, "claimed": claimed, **sides, **parts}
    return TypeAdapter(Claim).validate_python(stated, strict=False)


def judge_stated(stated: Claim, *rows: Comparison) -> ClaimVerdict:
    """Return the verdict of these comparisons, judged by the rule where they are not yet."""
    given = [replace(one, stands=one.stands or judge_comparison(one)) for one in rows]
    (found,) = judge_claims(given, [stated])
    return found


@pytest.mark.parametrize(
    ("claimed", "low", "high", "expected"),
    [
        ("more", 1.2, 1.5, "for"),
        ("more", 1.01, 1.5, "for"),  # the estimate is beyond 10 %
        ("more", 1.01, 1.15, "open"),  # it is not, and the interval reaches beyond
        ("more", 1.01, 1.05, "against"),  # a difference, but none that matters
        ("more", 0.9, 1.5, "open"),
        ("more", 0.9, 1.05, "against"),
        ("more", 0.5, 0.6, "against"),
        ("less", 0.5, 0.6, "for"),
        ("less", 0.86, 0.98, "open"),
        ("less", 0.95, 1.5, "against"),
        ("less", 0.8, 1.02, "open"),
        ("equal", 0.95, 1.05, "for"),
        ("equal", 0.95, 1.15, "open"),
        ("equal", 1.2, 1.3, "against"),
        ("equal", 0.7, 0.8, "against"),
        ("different", 0.7, 0.8, "for"),
        ("different", 1.2, 1.3, "for"),
        ("different", 0.95, 1.05, "against"),
        ("different", 0.8, 1.2, "open"),
        ("more", nan, nan, "open"),
    ],
)
def test_an_interval_is_for_or_against_a_claim_or_leaves_it_open(
    claimed: str, low: float, high: float, expected: str
) -> None:
    assert judge_comparison(row(low, high, claimed)) == expected
    # The same as a multiple of what it is held against, and as a difference in the metric's unit.
    assert judge_comparison(row(3 * low, 3 * high, claimed, than=3.0)) == expected
    assert (
        judge_comparison(
            row(100 * (low - 1), 100 * (high - 1), claimed, kind="difference", margin=10.0)
        )
        == expected
    )


@pytest.mark.parametrize(
    ("in_favour", "against", "open_", "expected"),
    [
        (10, 0, 0, "holds"),
        (7, 1, 2, "mostly holds"),
        (2, 0, 1, "mostly holds"),
        (0, 1, 0, "does not hold"),
        (1, 2, 0, "does not hold"),
        (5, 3, 2, "mixed"),
        (1, 1, 0, "undecided"),  # two of each at least
        (9, 2, 6, "undecided"),  # against are less than a quarter
        (0, 1, 1, "undecided"),
        (0, 0, 3, "undecided"),
    ],
)
def test_comparisons_add_up_to_a_verdict(
    in_favour: int, against: int, open_: int, expected: str
) -> None:
    assert judge_counts({"for": in_favour, "against": against, "open": open_}) == expected
    # What did not run, or is not comparable, is counted beside the verdict and not in it.
    assert (
        judge_counts(
            {"for": in_favour, "against": against, "open": open_, "not run": 9, "not comparable": 3}
        )
        == expected
    )


def test_without_a_comparison_that_ran_a_claim_is_not_comparable_or_not_run() -> None:
    assert judge_counts({"not comparable": 1, "not run": 5}) == "not comparable"
    assert judge_counts({"not run": 5}) == judge_counts({}) == "not run"


def test_a_verdict_has_its_counts_and_before_them_how_it_fails() -> None:
    favourable, opposite, nothing = row(1.2, 1.5), row(0.5, 0.6), row(0.95, 1.05)
    absent = row(stands="not run", reason="CouchDB did not run")
    most = judge_stated(claim(), *[favourable] * 2, row(0.9, 1.5), absent)
    assert (most.verdict, most.words) == ("mostly holds", "2 of 3 for, 1 open (1 not run)")
    assert (most.for_, most.against, most.open, most.not_run, most.why) == (
        2,
        0,
        1,
        1,
        "CouchDB did not run",
    )
    assert judge_stated(claim(), opposite).words == "the opposite; 0 of 1 for, 1 against"
    assert (
        judge_stated(claim(), nothing, nothing, opposite).words
        == "no difference that matters; 0 of 3 for, 3 against"
    )
    neither = row(0.6, 1.05)
    assert judge_stated(claim(), neither).words.startswith(
        "no difference that matters, or the opposite; 0 of 1 for"
    )


def test_mixed_names_the_factor_between_for_and_against() -> None:
    by_size = [row(1.2, 1.5, label=f"n={n}") for n in (1000, 10000)] + [
        row(0.5, 0.6, label=f"n={n}") for n in (1, 10)
    ]
    assert judge_stated(claim(), *by_size).words.startswith(
        "for with n=1000, n=10000, against with n=1, n=10; 2 of 4 for"
    )
    by_product = [row(1.2, 1.5, b="MySQL")] * 2 + [row(0.5, 0.6)] * 2
    assert judge_stated(claim(), *by_product).words.startswith(
        "for with MySQL, against with PostgreSQL; "
    )
    nothing_apart = [row(1.2, 1.5, label="")] * 2 + [row(0.5, 0.6, label="")] * 2
    assert judge_stated(claim(), *nothing_apart).words.startswith(
        "against with MongoDB against PostgreSQL; "
    )


def test_a_claim_that_mostly_holds_names_what_is_against_it() -> None:
    by_product = [row(1.2, 1.5, b="MySQL")] * 6 + [row(0.5, 0.6)] * 2
    found = judge_stated(claim(), *by_product)
    assert found.verdict == "mostly holds"
    assert found.words.startswith("for with MySQL, against with PostgreSQL; 6 of 8 for, 2 against")
    assert judge_stated(claim(), *by_product[:6]).words == "6 of 6 for"


def test_the_headline_is_the_papers_printed_number_else_the_largest_size_that_ran() -> None:
    small, large = row(1.2, 1.5, n=10), row(1.2, 1.5, n=1000)
    absent = row(n=100_000, published=3.0)
    assert choose_headline([small, large, absent]) is large
    printed = replace(small, published=1.4)
    assert choose_headline([large, printed]) is printed
    found = judge_stated(
        claim(),
        replace(small, estimate=1.3),
        replace(large, estimate=1.4),
        replace(absent, stands="not run"),
    )
    assert (found.estimate, found.smallest, found.largest) == (1.4, 1.3, 1.4)
    assert found.headline == "MongoDB against PostgreSQL, n=1000"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (2.9, 3.3, "as printed"),
        (3.2, 3.5, "larger"),
        (2.0, 2.8, "smaller"),
        (0.9, 2.0, "smaller"),
        (0.9, 4.0, ""),
        (nan, nan, ""),
    ],
)
def test_the_size_is_a_second_statement_against_what_the_printed_digits_allow(
    low: float, high: float, expected: str
) -> None:
    printed = {"published": 3.0, "published_low": 2.9, "published_high": 3.1}
    assert judge_stated(claim(), row(low, high, **printed)).size == expected


def make_insert_means(
    *products: str, slower: float = 1.0, blocks: int = 5, **columns: Any
) -> pd.DataFrame:
    """Return the block means of inserts on some products, each `slower` than the one before."""
    rows = observations(("crud",), blocks)
    rows = rows[
        rows["database"].isin(PRODUCTS)
        & (rows["topology"] == "single")
        & (rows["operation"] == "insert")
    ]
    place = rows["database"].map(PRODUCTS.index)
    rows = rows.assign(
        value=1e8
        * slower**place
        * (rows["value"] / rows.groupby("database")["value"].transform("mean"))
    )
    return compute_block_means(rows[rows["database"].isin(products)].assign(**columns))


def test_a_ranking_is_a_comparison_with_each_other_product_and_what_did_not_run_is_counted() -> (
    None
):
    first = claim("rank", {"first": PRODUCTS[0]}, among={"database": [*PRODUCTS]})
    rows = compare_claims(make_insert_means(*PRODUCTS, slower=2), [first])
    assert [row.b for row in rows] == ["PostgreSQL (JSONB)", "PostgreSQL (tables)"]
    assert [row.stands for row in rows] == ["for", "for"]
    rows = compare_claims(make_insert_means(*PRODUCTS[:2], slower=2), [first])
    (found,) = judge_claims(rows, [first])
    assert (found.verdict, found.words) == ("holds", "1 of 1 for (1 not run), on one machine-day")
    assert found.why == "PostgreSQL (tables) did not run"


def test_fewer_blocks_than_an_interval_needs_leave_a_claim_undecided() -> None:
    (only,) = compare_claims(
        make_insert_means(*PRODUCTS, slower=2, blocks=4), [claim(claimed="less")]
    )
    assert (only.stands, only.reason) == ("open", "4 of the 5 blocks that an interval needs")
    assert only.estimate == pytest.approx(0.5, rel=0.1)
    (found,) = judge_claims([only], [claim(claimed="less")])
    assert found.verdict == "undecided"


def test_the_papers_own_language_is_judged_and_others_are_listed() -> None:
    python, node = (
        make_insert_means(*PRODUCTS, slower=2),
        make_insert_means(*PRODUCTS, slower=0.5, language="node"),
    )
    rows = compare_claims(pd.concat([python, node]), [claim(claimed="less")])
    (found,) = judge_claims(rows, [claim(claimed="less")])
    assert (found.language, found.verdict) == ("python", "holds")
    counts = "0 of 1 for, 1 against, on one machine-day"
    assert found.others == f"node: does not hold (the opposite; {counts})"


def make_arangodb_means(checked: str | None) -> pd.DataFrame:
    """Return means in which ArangoDB takes twice as long as MongoDB."""
    rows = make_insert_means(*PRODUCTS, slower=2)
    for column in ("database", "cell_database"):
        rows[column] = rows[column].str.replace(PRODUCTS[1], "arangodb")
    return rows.assign(checked=rows["database"].eq("arangodb").map({True: checked, False: None}))


ARANGODB = {"b": {"database": "arangodb"}, "claimed": "less"}


def test_an_adapter_that_met_no_server_supports_no_verdict() -> None:
    rows = make_arangodb_means(checked=None)
    for means in (rows, rows.drop(columns="checked")):
        (only,) = compare_claims(means, [claim(**ARANGODB)])
        remedy = "measured; run `benchbook servers check arangodb` to have it judged"
        assert (only.stands, only.reason) == ("not run", remedy)


def test_cells_whose_server_was_checked_are_judged_and_others_do_not_count() -> None:
    checked = make_arangodb_means("2026-11-29")
    (only,) = compare_claims(checked, [claim(**ARANGODB)])
    assert (only.stands, only.estimate) == ("for", pytest.approx(0.5, rel=0.1))
    # The same cells on a server of a version that was not checked.
    other = make_arangodb_means(None)
    other = other[other["database"] == "arangodb"]
    other = other.assign(value=other["value"] * 9, at_least=other["at_least"] * 9)
    both = pd.concat([other, checked], ignore_index=True)
    (same,) = compare_claims(both, [claim(**ARANGODB)])
    assert (same.stands, same.estimate, same.blocks) == (only.stands, only.estimate, only.blocks)


def test_a_parameter_that_a_claim_does_not_name_has_its_default() -> None:
    rows = make_insert_means(*PRODUCTS, slower=2)
    strict = rows.assign(
        value=rows["value"] * 9, at_least=rows["at_least"] * 9, durability="strict"
    )
    (alone,) = compare_claims(rows, [claim(claimed="less")])
    (beside,) = compare_claims(pd.concat([rows, strict]), [claim(claimed="less")])
    assert beside.estimate == alone.estimate
    one_side = pd.concat(
        [rows[rows["database"] == PRODUCTS[0]], strict[strict["database"] == PRODUCTS[1]]]
    )
    (only,) = compare_claims(one_side, [claim()])
    assert only.stands == "not run"


@pytest.fixture
def crud(results_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store results in which MongoDB takes half as long as PostgreSQL's tables, and no others."""
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    rows = make_insert_means(PRODUCTS[0], PRODUCTS[2], slower=2**0.5)
    monkeypatch.setattr(runs, "load_block_means", lambda *_: rows)
    # Kept verdicts are found by the files of the results, and these have none.
    monkeypatch.setattr(paths, "judged_tables", lambda: tmp_path)


def test_the_command_says_first_how_many_claims_hold_then_lists_those_of_a_study(
    crud: None, capfd: pytest.CaptureFixture[str]
) -> None:
    counts = VerdictCounts.count(Analysis(runs.load_block_means(open_results(), [])).verdicts)
    assert cli.main(["claims", "--profile", "smoke"]) == DONE
    printed = capfd.readouterr().out
    assert printed.startswith("Does it hold? Claims by study and verdict, in the profile smoke:\n")
    (every,) = [line.split() for line in printed.splitlines() if line.startswith("all ")]
    assert every[1:] == [
        str(counts.claims),
        *(str(count) for count in counts.by_verdict.values() if count),
    ]
    assert "crud.insert" not in printed and counts.by_verdict["does not hold"] == 0
    assert cli.main(["claims", "crud", "--profile", "smoke"]) == DONE
    printed = capfd.readouterr().out
    own = [one for one in load_claims() if one.study == "crud" and not one.fact]
    assert [
        line.split()[-1] for line in printed.splitlines() if ".crud" in f".{line.split(' ')[-1]}"
    ] == [one.id for one in own]
    (line,) = [
        line for line in printed.splitlines() if "crud.insert.mongodb-before-relational" in line
    ]
    assert (
        line.startswith("holds ")
        and "0.5" in line
        and "1 of 1 for where it ran (8 not run)" in line
    )
    assert "5 blocks of 1 machine-day" in line


def test_a_terminal_shows_a_claims_sentence_in_its_width_and_folds_what_did_not_run(
    crud: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("TERM", "xterm-256color"), ("NO_COLOR", "")):
        monkeypatch.setenv(name, value)
    assert cli.main(["claims", "crud", "--profile", "smoke"]) == DONE
    colourful = capsys.readouterr().out
    assert re.search(r"\x1b\[1;38;5;\d+mholds", colourful)
    plain = re.sub(r"\x1b\[[\d;]*m", "", colourful)
    below = plain.partition("\n\n")[2]
    assert max(map(len, below.splitlines())) <= 80
    assert "\nnot run " not in below and re.search(
        r"\d+ claims did not run: --verdict not-run lists them", below
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli.main(["claims", "crud", "--profile", "smoke"]) == DONE
    assert "38;5" not in capsys.readouterr().out


def test_the_command_shows_every_comparison_of_one_claim(
    crud: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        cli.main(["claims", "crud.insert.mongodb-before-relational", "--profile", "smoke"]) == DONE
    )
    printed = capfd.readouterr().out
    assert (
        printed.startswith("holds ")
        and "1 of 1 for where it ran (8 not run)" in printed.partition("language")[0]
    )
    assert "5 blocks of 1 machine-day" in printed
    assert printed.count("  not run ") == 8 and printed.count("MongoDB / ") == 10


def test_the_command_writes_verdicts_with_their_comparisons_as_json(
    crud: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["claims", "--profile", "smoke", "--json"]) == DONE
    rows = json.loads(capfd.readouterr().out)
    judged = [one for one in load_claims() if isinstance(one, MeasuredClaim) and not one.fact]
    assert [one["id"] for one in rows] == [one.id for one in judged]
    assert {one["verdict"] for one in rows} <= {*VERDICTS}
    (found,) = [one for one in rows if one["id"] == "crud.insert.mongodb-before-relational"]
    counts = ("for", "against", "open", "not_comparable", "not_run")
    assert [found[name] for name in counts] == [1, 0, 0, 0, 8]
    assert len(found["comparisons"]) == 9
    (ran,) = [one for one in found["comparisons"] if one["stands"] == "for"]
    assert (ran["b"], ran["label"], ran["blocks"], ran["df"]) == (
        "PostgreSQL (tables)",
        "n=1000",
        5,
        4,
    )
    assert (
        ran["low"] < ran["estimate"] < ran["high"] < 1 and ran["t"] < 0 < ran["p"] <= ran["p_holm"]
    )
    absent = next(one for one in found["comparisons"] if one["stands"] == "not run")
    assert absent["estimate"] is None and "did not run" in absent["reason"]


def test_the_command_takes_studies_ids_and_verdicts_and_names_the_nearest(
    crud: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        cli.main(["claims", "crud", "--verdict", "holds", "--profile", "smoke", "--json"]) == DONE
    )
    assert {(one["study"], one["verdict"]) for one in json.loads(capfd.readouterr().out)} == {
        ("crud", "holds")
    }
    assert cli.main(["claims", "crud.insert.mongodb-before", "--profile", "smoke"]) == USAGE
    assert "did you mean 'crud.insert.mongodb-before-relational'" in capfd.readouterr().err
    assert cli.main(["claims", "--verdict", "hold", "--profile", "smoke"]) == USAGE
    assert "did you mean 'holds'" in capfd.readouterr().err


def test_the_command_judges_what_a_smoke_run_measured_of_its_one_block(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    for cell in grid.make_plan(["bookstore"], "smoke").cells:
        columns = {
            "study": "bookstore",
            "cell_id": cell.identity,
            "block": 0,
            "position": cell.position,
        }
        columns |= {
            "host": "here",
            "language": "python",
            "arm": cell.arm,
            "n": cell.parameters.n,
            "state": "done",
        }
        columns["environment"] = "{}"
        open_results().write_cell(
            columns, load_study("bookstore").run(cell.parameters), cell.combination[1]
        )
    assert cli.main(["claims", "--profile", "smoke", "--json"]) == DONE
    rows = {one["id"]: one for one in json.loads(capfd.readouterr().out)}
    found = rows["bookstore.round-trip.xml-slower"]
    assert (found["verdict"], found["blocks"], found["low"]) == ("undecided", 1, None)
    assert "1 of the 5 blocks that an interval needs" in {
        one["reason"] for one in found["comparisons"]
    }


def test_cells_beyond_the_profile_are_judged_and_counted_but_not_those_of_a_users_file(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As of ``run --set``: the remedy of a claim that is not comparable names such levels."""
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    names = json.dumps([{"name": "Ada"}, {"name": "Grace"}])
    results_folder.mkdir(exist_ok=True)
    (results_folder / "names.json").write_text(names)
    own_file = f"dataset_file={results_folder / 'names.json'}"
    where = ["language=python", "process=together", "case=1"]
    for changes in (["n=100", "repetitions=2"], ["n=100", "repetitions=3", "blocks=2"], [own_file]):
        for cell in grid.make_plan(["bookstore"], "smoke", where, changes).cells:
            columns = batch._describe_cell(cell, "done") | {"run_id": "set", "environment": "{}"}
            plain = cell.parameters.model_copy(update={"dataset_file": None})
            open_results().write_cell(
                columns, load_study("bookstore").run(plain), cell.combination[1]
            )
    assert cli.main(["claims", "bookstore", "--profile", "smoke"]) == DONE
    assert "in the profile smoke and 6 finished cells beyond it" in capfd.readouterr().out
    assert cli.main(["claims", "--profile", "smoke", "--json"]) == DONE
    rows = {one["id"]: one for one in json.loads(capfd.readouterr().out)}
    compared = rows["bookstore.round-trip.xml-slower"]["comparisons"]
    # Cells that differ in their repetitions only are pooled.
    blocks = {one["label"]: one["blocks"] for one in compared if one["blocks"]}
    assert blocks == {"case=1, n=100": 2}


def test_a_claim_of_noisy_blocks_only_is_undecided_shown_and_counted_apart():
    noisy = row(blocks=0, noisy=3, noisy_estimate=2.5, stands="open")
    found = judge_stated(claim(), noisy)
    assert (found.verdict, found.is_only_noisy, found.noisy_estimate) == ("undecided", True, 2.5)
    assert isnan(found.estimate) and isnan(found.smallest)
    assert not judge_stated(claim(), noisy, row(0.9, 1.5, blocks=5)).is_only_noisy
    counts = VerdictCounts.count([found])
    assert counts.noisy == 1 and str(counts) == "1 claim: undecided 1 (1 only noisy)"


def test_a_gap_divides_one_ratio_at_two_levels():
    (stated,) = (
        one for one in load_claims("bookstore") if one.id == "bookstore.gap.wider-than-at-1000"
    )
    found = judge_stated(stated, row(1.2, 1.5, name=stated.id, language="java"))
    assert (found.a, found.b) == ("(xml / json) at n=10000", "at n=1000")


def compare_blocks(ratio: float, noise: float, days: int = 2, per_day: int = 3) -> Comparison:
    """Return a comparison of blocks that vary by some noise about a ratio."""
    drawn = np.random.default_rng(7).normal(size=days * per_day)
    values = np.log(ratio) + noise * (drawn - drawn.mean()) / drawn.std(ddof=1)
    interval = compute_interval(values, np.repeat(np.arange(days), per_day))
    return row(
        estimate=exp(interval.estimate),
        low=nan if isnan(interval.low) else exp(interval.low),
        high=nan if isnan(interval.high) else exp(interval.high),
        error=interval.error,
        blocks=interval.blocks,
        machine_days=interval.machine_days,
        stands="open",
    )


def judge(*rows: Comparison) -> ClaimVerdict:
    return judge_stated(claim(), *rows)


def test_the_half_width_of_a_forecast_is_that_of_the_interval_of_these_blocks() -> None:
    one = compare_blocks(1.3, 0.2, days=3, per_day=3)
    reach = compute_half_width(compute_spread(one), one.blocks, one.machine_days)
    assert one.estimate * exp(reach) == pytest.approx(one.high)
    assert one.estimate / exp(reach) == pytest.approx(one.low)


def test_the_days_that_a_claim_needs_are_the_fewest_that_decide_it() -> None:
    one = compare_blocks(1.25, 0.2)
    assert judge(one).needs == "needs about 2 more machine-days"
    assert forecast_outcomes([one], 1) == ["open"]
    assert forecast_outcomes([one], 2) == ["for"]
    noisier = judge(compare_blocks(1.25, 0.4)).needs
    assert int(noisier.split()[2]) > 2


def test_a_ratio_near_no_difference_is_decided_against_its_claim_where_days_suffice() -> None:
    one = compare_blocks(1.0, 0.1)
    days = next(days for days in range(1, 9) if forecast_outcomes([one], days) == ["against"])
    assert judge(one).needs.startswith(f"needs about {days} more machine-day")


def test_what_no_affordable_number_of_days_decides_says_so() -> None:
    assert judge(compare_blocks(1.01, 1.0)).needs == NEAR_PARITY
    assert judge(compare_blocks(1.3, 3.0)).needs == "needs more than 20 more machine-days"
    # Parity would decide a claim of likeness: its width is the reason.
    likeness = replace(compare_blocks(1.01, 3.0), claimed="equal")
    alike = judge_stated(claim(claimed="equal"), likeness)
    assert alike.needs.startswith(
        "its intervals are too wide: needs more than 20 more machine-days"
    )


def test_too_few_blocks_for_an_interval_are_counted_as_blocks() -> None:
    one = compare_blocks(1.3, 0.1, days=1, per_day=3)
    assert judge(one).needs == "needs at least 2 more blocks"
    # An interval for one of two decides nothing.
    shorter = replace(one, blocks=2)
    assert judge(one, shorter).needs == "needs at least 3 more blocks"
    assert judge(one, one, shorter).needs == "needs at least 2 more blocks"


def test_a_comparison_without_an_interval_gets_the_spread_of_the_others() -> None:
    short = compare_blocks(1.3, 0.1, days=1, per_day=2)
    assert forecast_outcomes([short], 3) == ["open"], "it is unknown"
    assert forecast_outcomes([short, compare_blocks(1.3, 0.05)], 3) == ["for", "for"]


def test_a_decided_claim_needs_nothing() -> None:
    assert judge(row(1.2, 1.4, stands="for", blocks=6, machine_days=2)).needs == ""
