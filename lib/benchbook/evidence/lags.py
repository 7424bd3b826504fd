"""How far replicas were behind, probe by probe: what quantiles are of, which no block's mean can tell."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

COLUMNS: Final = (
    *("host", "lane", "engine", "engine_version", "stand_in", "topology", "model", "durability", "parameters"),
    *("cell_id", "block", "repetition", "value", "censored", "resolution", "disturbed"),
)
"""A row a probe: its lag (``value``) and the wait's own resolution in ns; censored: it is longer."""

RESAMPLES: Final = 2_000


def lags(files: Iterable[Path]) -> pd.DataFrame:
    """Return every probe of study `replication` that lies in these files of results; columns are `COLUMNS`."""
    paths = [str(path) for path in files]
    if not paths:
        return pd.DataFrame(columns=[*COLUMNS])
    sql = f"SELECT {', '.join(COLUMNS)} FROM read_parquet($files) WHERE metric = 'lag_time'"
    with duckdb.connect() as connection:
        probes: pd.DataFrame = connection.sql(sql, params={"files": paths}).df()
    return probes


def quantiles(lag: NDArray[np.float64], block: NDArray[np.int64], probabilities: Iterable[float]) -> pd.DataFrame:
    """Return quantiles of the probes' lags, each with a 95 % interval by resampling whole blocks.

    Probes of a block share its servers and its moment: drawn one by one, they would promise a precision that is not
    there (a percentile bootstrap of clusters; Davison and Hinkley, Bootstrap Methods and their Application, 1997,
    section 3.8). Of fewer than five blocks there is no interval.

    Parameters
    ----------
    lag
        In any unit, shape (probes,); what it is censored at stands for it.
    block
        The block of each, shape (probes,).
    probabilities
        Between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        A row a probability: ``probability, value, low, high, blocks, probes``.
    """
    asked = [*probabilities]
    parts = [lag[block == number] for number in np.unique(block)]
    estimates = np.quantile(lag, asked)
    low = high = np.full(len(asked), np.nan)
    if len(parts) >= 5:
        random = np.random.default_rng(0)
        drawn = random.integers(len(parts), size=(RESAMPLES, len(parts)))
        resampled = [np.quantile(np.concatenate([parts[number] for number in row]), asked) for row in drawn]
        low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    return pd.DataFrame(
        {
            "probability": asked,
            "value": estimates,
            "low": low,
            "high": high,
            "blocks": len(parts),
            "probes": len(lag),
        }
    )
