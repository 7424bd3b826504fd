"""Whether a run can be trusted, and what its machine did beside the work."""

import json
from math import isnan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import constructed
from benchbook import evidence
from benchbook.evidence import claim_files
from benchbook.evidence.claims import Untestable
from benchbook.evidence.comparisons import Compared, sentence
from benchbook.evidence.controls import ALIKE, AMOUNTS, DIFFER, RATES, TOO_FEW, drift, drift_in_words
from benchbook.papers import bookstore, crud, exhibits
from benchbook.report import show, words
from benchbook.studies import SLUGS


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return constructed.observations()


def beside(*loads: float) -> pd.DataFrame:
    """Return how many processors others used beside each cell; more than a tenth of one disturbs."""
    return pd.DataFrame({"load": loads, "disturbed": [load > 0.1 for load in loads]}, columns=["load", "disturbed"])


def with_second_arm(rows: pd.DataFrame, study: str, factor: float) -> pd.DataFrame:
    """Return the rows and an identical second arm of the study's, which takes `factor` times as long."""
    own = rows[rows["study"] == study]
    second = own.assign(
        arm="b",
        cell_id=own["cell_id"] + "b",
        parameters=[json.dumps(json.loads(text) | {"arm": "b"}) for text in own["parameters"]],
        value=own["value"] * factor * np.exp(0.001 * np.sin(own["block"] + own["repetition"])),
    )
    return pd.concat([rows, second], ignore_index=True)


def test_identical_arms_that_differ_make_the_studys_run_on_that_host_untrusted(rows: pd.DataFrame) -> None:
    assert evidence.untrusted(evidence.controls(rows)) == frozenset()
    sound, doubtful = (evidence.measures(with_second_arm(rows, "bookstore", factor)) for factor in (1.0, 1.5))
    assert evidence.untrusted(evidence.controls(sound)) == frozenset()
    assert evidence.untrusted(evidence.controls(doubtful)) == {("bookstore", "testhost")}


def test_arms_in_turn_in_one_process_are_compared_with_each_other_and_with_no_first_cell(rows: pd.DataFrame) -> None:
    both = with_second_arm(rows, "bookstore", 1.2)
    own = rows[rows["study"] == "bookstore"]
    second = both[both["arm"].eq("b")]
    a = second.assign(arm="a", value=own["value"].to_numpy() * 1.2)  # so that within the process nothing differs
    in_turn = evidence.measures(pd.concat([both, a], ignore_index=True))
    assert evidence.untrusted(evidence.controls(evidence.measures(both))) == {("bookstore", "testhost")}
    found = evidence.controls(in_turn)
    assert len(found) and not found["untrusted"].any()
    claimed = evidence.comparisons(in_turn).query("study == 'bookstore'")
    alone = evidence.comparisons(own)
    assert claimed["mean_a"].tolist() == alone["mean_a"].tolist(), "the pair's second cell is a control, no result"


@pytest.mark.parametrize(("of_b", "state"), [(1.0, ALIKE), (1.01, ALIKE), (1.03, DIFFER)])
def test_arms_that_do_not_vary_are_alike_within_the_margin_and_differ_beyond(
    rows: pd.DataFrame, of_b: float, state: str
) -> None:
    both = with_second_arm(rows, "bookstore", 1.0)
    sizes = both["metric"].eq("size")
    exact = both.assign(value=both["value"].mask(sizes, np.where(both["arm"].eq("b"), 1000 * of_b, 1000.0)))
    found = evidence.controls(exact).set_index("kind").loc["bytes"]
    assert (found["state"], found["untrusted"]) == (state, state == DIFFER)


def test_what_has_no_ratio_is_left_out_and_counted(rows: pd.DataFrame) -> None:
    both = with_second_arm(rows, "drivers", 1.0)
    freed = both["metric"].eq("memory_change") & both["operation"].eq("delete")
    found = evidence.controls(both.assign(value=both["value"].mask(freed, -4096.0)))
    memory = found.set_index("kind").loc["memory"]
    assert (memory["left_out"], memory["quantities"]) == (4, 12)
    assert "4 more have no ratio" in memory["words"]


def test_each_study_says_its_equivalence_its_margin_and_the_smallest_bias_that_it_would_have_found(
    rows: pd.DataFrame,
) -> None:
    found = evidence.controls(with_second_arm(rows, "bookstore", 1.0)).set_index("kind")
    time = found.loc["time"]
    assert time["state"] == ALIKE
    assert 1 / time["margin"] <= time["low"] < 1 < time["high"] <= time["margin"]
    assert 1 < time["detectable"] < 1.05
    assert time["margin"] == min(
        claim.margin for claim in evidence.claims("bookstore") if "wall_time" in str(getattr(claim, "quantity", ""))
    )
    assert "of arm a's in 5 blocks: alike within" in time["words"]
    assert "would have been found" in time["words"]


def test_before_the_first_look_nothing_is_said_of_identical_arms(rows: pd.DataFrame) -> None:
    few = with_second_arm(rows[rows["block"] < 4], "bookstore", 3.0)
    found = evidence.controls(few)
    assert set(found["state"]) == {TOO_FEW}
    assert evidence.untrusted(found) == frozenset()
    assert "nothing vouches" in words.trust(found, beside())


@pytest.mark.parametrize("loads", [(), (0.0, 0.05), (0.0, 0.9, 1.5)])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_no_word_vouches_for_more_than_identical_arms_show(
    rows: pd.DataFrame, noise: float, loads: tuple[float, ...]
) -> None:
    both = with_second_arm(rows, "bookstore", 1.0)
    moods = np.random.default_rng(7).normal(0, noise, 5)
    of_b = both["arm"].eq("b")
    found = evidence.controls(both.assign(value=both["value"] * np.where(of_b, np.exp(moods[both["block"]]), 1.0)))
    said = words.trust(found, beside(*loads))
    assert "rusted" not in said and not found["untrusted"].any()
    assert ("**All are alike**" in said) == (noise == 0)
    assert ("**Whether they differ is open** in bookstore: a factor of up to " in said) == (noise > 0)
    assert ("**2 of 3 cells ran while other processes used the machine** (1.50 processors" in said) == (len(loads) == 3)


def test_arms_are_corrected_over_the_whole_run_not_over_each_study(rows: pd.DataFrame) -> None:
    both = with_second_arm(with_second_arm(rows, "bookstore", 1.02), "tcp", 1.0)
    alone, together = (
        evidence.controls(table).query("study == 'bookstore' and kind == 'time'").iloc[0]
        for table in (with_second_arm(rows, "bookstore", 1.02), both)
    )
    assert (together["low"], together["high"]) == (alone["low"], alone["high"])  # what is shown is at 95 %
    assert together["detectable"] > alone["detectable"]


def test_every_metric_that_is_claimed_or_compared_has_its_kind() -> None:
    compared = {
        quantity[2] for study in SLUGS for one in claim_files.comparisons(study) for quantity in one.every_quantity()
    }
    claimed = {claim.quantity.metric for claim in evidence.claims() if not isinstance(claim, Untestable)}
    assert compared | {*np.hstack([*claimed])} <= {
        metric for kinds in (AMOUNTS, RATES) for metrics in kinds.values() for metric in metrics
    }


def test_figures_and_tables_of_an_untrusted_run_are_marked_and_no_others(rows: pd.DataFrame, tmp_path: Path) -> None:
    """Of all figures and tables those of two studies and that of all: enough, for one place marks them."""
    drawn: list[str] = []
    for some in (exhibits.FIGURES, exhibits.TABLES):
        firsts = {name.partition("_")[0]: name for name in reversed(some)}
        drawn += [name for study, name in firsts.items() if study in ("overview", "bookstore", "drivers")]
    assert len(drawn) == 5
    two = rows[rows["study"].isin(["bookstore", "drivers"])]
    untrusted = evidence.Evidence.of(with_second_arm(two, "bookstore", 1.5))
    written = exhibits.draw_all(untrusted, tmp_path, "quick", drawn)
    assert {path.stem for path in written} == {*drawn}
    for name in drawn:
        about = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        marked = not name.startswith("drivers_")
        assert about["title"].endswith(" (untrusted run)") == marked
        assert any(note.startswith("untrusted run") for note in about["notes"]) == marked
        if name in exhibits.FIGURES:
            assert ("<!-- untrusted -->" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")) == marked


@pytest.mark.parametrize(
    ("low", "high", "p", "said"),
    [
        (0.97, 1.05, 0.6, "equivalent within ±10%: XML took 1.02 (0.97 to 1.05) times as long as JSON"),
        (1.02, 1.08, 0.001, "equivalent within ±10%"),
        (0.7, 1.5, 0.6, "no difference shown, nor that there is none: XML took"),
        (1.3, 1.5, 0.001, "XML took 1.02 (1.30 to 1.50) times"),
    ],
)
def test_that_nothing_differs_is_said_only_of_what_is_equivalent(low: float, high: float, p: float, said: str) -> None:
    nan = float("nan")
    row = Compared(
        study="tcp", comparison="XML against JSON", host="h", operation="receive", role="server", metric="wall_time",
        unit="ns", factors="", settings={}, n=1000, a="XML", b="JSON", side_a="xml", side_b="json", blocks=6,
        mean_a=nan, mean_b=nan, censored=False, published_ratio=nan, published_source="",
        ratio=1.02, low=low, high=high, p=p, detectable_ratio=1.1,
    )  # fmt: skip
    assert sentence(row, p, tests=1).startswith(said)


def test_drift_tells_the_governor_and_how_far_the_blocks_moved(rows: pd.DataFrame) -> None:
    crud = rows[(rows["study"] == "crud") & (rows["block"] < 3)]
    environment = json.dumps({"governor": "powersave"})
    slowed = crud.assign(environment=environment, value=crud["value"] * np.where(crud["block"] == 2, 1.5, 1.0))
    found = drift(evidence.measures(slowed)).iloc[0]
    assert found["moved"] == pytest.approx(1.5, rel=0.05)
    said = drift_in_words(drift(evidence.measures(slowed)))
    assert "powersave" in said
    assert "it drifted, which pairing by block takes out" in said


def test_one_block_has_not_moved_and_nothing_has_no_drift(rows: pd.DataFrame) -> None:
    assert isnan(drift(evidence.measures(rows[rows["block"] == 0]))["moved"].iloc[0])
    assert "Nothing ran" in drift_in_words(drift(evidence.measures(rows.iloc[:0])))


def test_the_harness_costs_what_an_engine_takes_that_stores_nothing(rows: pd.DataFrame) -> None:
    found = crud.null_baseline(evidence.measures(rows)).set_index(["engine", "operation"])
    means = evidence.measures(rows).query("study == 'crud' and metric == 'wall_time' and topology == 'single'")
    geometric = np.log(means["value"]).groupby([means["engine"], means["operation"]]).mean()
    expected = np.exp(geometric["noop", "insert"] - geometric["mongodb", "insert"])
    assert found["share"]["mongodb", "insert"] == pytest.approx(expected)
    said = crud.null_baseline_in_words(crud.null_baseline(evidence.measures(rows)))
    assert said.startswith("An engine that stores nothing took ")
    assert "not known" in crud.null_baseline_in_words(crud.null_baseline(evidence.measures(rows.iloc[:0])))


def test_cold_starts_are_split_from_steady_states_cell_by_cell(rows: pd.DataFrame) -> None:
    one = rows[(rows["study"] == "bookstore") & (rows["metric"] == "wall_time") & (rows["repetition"] == 0)]
    noise = np.random.default_rng(3)
    many = pd.concat([one.assign(repetition=repetition) for repetition in range(30)], ignore_index=True)
    many["value"] = 1e6 * np.exp(0.02 * noise.standard_normal(len(many))) * np.where(many["repetition"] == 0, 4.0, 1.0)
    found = bookstore.cold_starts(many)
    assert len(found) == one.groupby(["cell_id", "operation"]).ngroups
    assert set(found["shape"]) == {"cold start"}
    assert set(found["start"]) == {1.0}
    assert found["cold_over_steady"].to_numpy() == pytest.approx(4.0, rel=0.1)
    assert bookstore.cold_starts(rows).empty  # two repetitions settle nowhere


def test_identical_arms_of_several_hosts_are_told_apart_on_the_page(rows: pd.DataFrame) -> None:
    one = with_second_arm(rows, "tcp", 1.0).query("study == 'tcp'")
    several = pd.concat([one, one.assign(host="lab2", cell_id=one["cell_id"] + "lab2")], ignore_index=True)
    for means, named in ((evidence.measures(one), False), (evidence.measures(several), True)):
        tables = show.controls(evidence.controls(means)), show.comparisons(evidence.arms(means), "")
        assert [("lab2" in table.data) for table in tables] == [named] * 2
        assert ("Host</th>" in tables[0].data) == named
