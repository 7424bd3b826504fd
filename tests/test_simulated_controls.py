"""Whether identical arms that differ are found, and sound ones left alone: machines whose truth is known, all studies.

Each machine visits the A/A cells of the five studies in every block. A cell's quantities vary together from block to
block by as much as blocks of a quiet machine do, and each a little by itself.
"""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

import constructed
from benchbook import evidence
from benchbook.evidence.controls import ALIKE
from benchbook.stats.sequential import LOOKS

SPREAD = {"bookstore": 0.14, "tcp": 0.16, "drivers": 0.1, "crud": 0.1, "replication": 0.08}
"""Standard deviation of a cell's mood in a block, in logarithms."""
OWN = 0.05
"""That of each quantity beside it."""


def cells() -> pd.DataFrame:
    """Return one repetition of each A/A cell: two to four a study, as the grids have them."""
    rows = constructed.observations(blocks=1)
    rows = rows[rows["repetition"].eq(0)]
    kept = {
        "bookstore": rows["n"].eq(1000),
        "tcp": rows["n"].eq(20000),
        "drivers": rows["parameters"].str.contains('"attributes": 89'),
        "crud": rows["engine"].isin(["mongodb", "postgresql+relational"]),
        "replication": rows["model"].eq("document"),
    }
    some = pd.concat([rows[rows["study"].eq(study) & chosen] for study, chosen in kept.items()], ignore_index=True)
    some = some[~some["metric"].isin(["cpu_capacity", "memory_used", "memory_total"])]
    return some.drop_duplicates(["study", "cell_id", "role", "metric"], ignore_index=True)  # of one operation


def measured(machines: int, blocks: int, bias: float = 1.0, seed: int = 1) -> pd.DataFrame:
    """Return what identical arms measured on so many machines; of each, arm b takes longer by a bias in one study."""
    random = np.random.Generator(np.random.PCG64(seed))
    template = cells()
    process = template.groupby(["study", "parameters"], sort=False).ngroup().to_numpy()
    study = template["study"].map({slug: at for at, slug in enumerate(SPREAD)}).to_numpy()
    shape = (machines, blocks, 2)
    mood = random.standard_normal((*shape, process.max() + 1))[..., process]
    noise = template["study"].map(SPREAD).to_numpy() * mood + OWN * random.standard_normal((*shape, len(template)))
    noise[..., template["metric"].isin(["size", "bytes_received"])] = 0.0
    slowed = (np.arange(machines)[:, None] % len(SPREAD) == study) & template["unit"].eq("ns").to_numpy()
    noise[:, :, 1, :] += np.log(bias) * slowed[:, None, :]
    host, block, arm, row = (axis.ravel() for axis in np.indices(noise.shape))
    second = template.assign(
        cell_id=template["cell_id"] + "b", arm="b",
        parameters=template["parameters"].str.replace('"arm": "a"', '"arm": "b"', regex=False),
    )  # fmt: skip
    both = pd.concat([template, second], ignore_index=True).iloc[row + arm * len(template)].reset_index(drop=True)
    names = np.array([f"machine-{one:04}" for one in range(machines)])[host]
    value = both["value"] * np.exp(noise.ravel())
    return evidence.measures(both.assign(host=names, block=block, value=value, cell_id=names + both["cell_id"]))


@pytest.fixture(scope="module")
def biased() -> pd.DataFrame:
    """Return the controls of a hundred machines after eight blocks, in one study of each of which an arm is slower."""
    return evidence.controls(measured(100, 8, bias=1.5))


def test_an_arm_that_takes_half_as_long_again_is_found_on_four_of_five_machines_at_eight_blocks(biased) -> None:
    found = Counter(study for study, host in evidence.untrusted(biased) if host in of(study))
    assert min(found[study] / len(of(study)) for study in SPREAD) >= 0.8


def of(study: str) -> set[str]:
    """Return the machines of which that study is the biased one."""
    return {f"machine-{one:04}" for one in range(100) if list(SPREAD)[one % len(SPREAD)] == study}


def test_what_is_said_to_be_found_is_found_in_four_of_five_cases_and_alike_is_said_of_no_biased_arm(biased) -> None:
    times = biased[biased["kind"] == "time"]
    hit = pd.Series([host in of(study) for study, host in zip(times["study"], times["host"], strict=True)], times.index)
    seen = times[hit & (times["detectable"] <= 1.5)]
    assert len(seen) >= 80
    assert seen["untrusted"].mean() >= 0.8
    assert not times.loc[hit, "state"].eq(ALIKE).any()
    assert not times.loc[~hit, "untrusted"].any() or times.loc[~hit, "untrusted"].mean() <= 0.05


def test_at_most_one_sound_machine_in_twenty_is_ever_called_untrusted_at_any_of_five_looks() -> None:
    means = measured(60, LOOKS[-1], seed=2)
    looks = (evidence.controls(means[means["block"] < blocks]) for blocks in LOOKS)
    found = {host for table in looks for _, host in evidence.untrusted(table)}
    assert len(found) <= scipy_stats.binom.ppf(0.99, 60, 0.05)
