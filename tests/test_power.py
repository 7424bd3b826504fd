"""How blocks and repetitions vary, how many repetitions are best, and what an hour would decide."""

import json
from math import nan

import numpy as np
import pytest

from benchbook import cli, evidence
from benchbook.cli.power import powers
from benchbook.runner.standing import readings
from benchbook.stats.variances import MOST, Components, best_repetitions, components
from test_until import SMALL, Machine, plan, run


def test_the_variances_that_made_the_data_are_found() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    blocks, repetitions, between, within = 4000, 5, 0.04, 0.09
    values = (between**0.5 * random.standard_normal(blocks))[:, None]
    values = values + within**0.5 * random.standard_normal((blocks, repetitions))
    found = components(values.mean(axis=1), values.var(axis=1, ddof=1), repetitions)
    assert found.within == pytest.approx(within, rel=0.05)
    assert found.between == pytest.approx(between, rel=0.08)


def test_blocks_that_differ_less_than_their_repetitions_explain_do_not_differ() -> None:
    assert components([1.0, 1.01, 0.99], [0.5, 0.5, 0.5], 2).between == 0


@pytest.mark.parametrize(("means", "within"), [([1.0], [0.1]), ([1.0, 1.1], [nan, nan])])
def test_what_is_not_known_is_not_guessed(means: list[float], within: list[float]) -> None:
    found = components(means, within, 3)
    assert found.between != found.between
    best = best_repetitions(found, 1, 1)
    assert best != best


@pytest.mark.parametrize(
    ("within", "between", "block_s", "repetition_s", "best"),
    [
        (0.09, 0.01, 4.0, 1.0, 6),  # sqrt(4 * 9)
        (0.01, 0.09, 1.0, 1.0, 1),
        (0.09, 0.01, 0.5, 1.0, 3),  # sqrt(4.5), rounded up
        (0.09, 0.0, 1.0, 1.0, MOST),
        (0.0, 0.0, 1.0, 1.0, 1),
    ],
)
def test_the_best_number_of_repetitions_is_kaliberas(
    within: float, between: float, block_s: float, repetition_s: float, best: float
) -> None:
    assert best_repetitions(Components(within, between), block_s, repetition_s) == best


def test_a_block_with_the_best_number_of_repetitions_tells_most_for_its_time() -> None:
    """The variance of the mean that a fixed time buys is least there."""
    found, block_s, repetition_s = Components(0.2, 0.01), 3.0, 0.7

    def variance(repetitions: float) -> float:
        return (found.between + found.within / repetitions) * (block_s + repetitions * repetition_s)

    best = best_repetitions(found, block_s, repetition_s)
    assert variance(best) <= min(variance(best - 2), variance(best + 2))


@pytest.fixture(autouse=True)
def _folder(results_folder: object) -> None:
    """An empty results' folder for each test."""


def test_the_command_says_what_varies_and_what_the_next_hour_would_decide(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "power",
        "bookstore",
        "--profile",
        "decide",
        *(word for text in SMALL for word in ("--where", text)),
        "--set",
        "blocks=30",
        "--set",
        "repetitions=4",
    ]
    assert cli.main(asked) == cli.DONE
    assert "benchbook run first" in capsys.readouterr().out
    machine = Machine({10: 1.2, 1000: 4.0}, {10: 0.1, 1000: 0.02}, repetitions=4, within=0.3)
    machine.stop_after = 5 * len({cell.kind for cell in plan(4)})
    with pytest.raises(KeyboardInterrupt):
        run(machine, repetitions=4)
    assert cli.main([*asked, "--json"]) == cli.DONE
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["study"], row["lane"], row["repetitions"]) == ("bookstore", "python", 4)
    assert row["within"] == pytest.approx(0.3 * 2**0.5, rel=0.3)
    assert row["between"] < 0.3
    assert row["best"] >= 1
    assert isinstance(row["decided_in_an_hour"], list)
    assert cli.main(asked) == cli.DONE
    assert "the next hour would decide" in capsys.readouterr().out
    fast = {cell.kind: 0.0 for cell in plan(4)}  # the last block of a cell took less than its blocks do on average
    (found,) = powers(readings(plan(4)), evidence.stored_means(), fast)
    assert found.best >= 1 and found.block_s == 0
