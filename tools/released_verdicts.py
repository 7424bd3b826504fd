"""Keep the reference run's verdicts as those of the version that is released.

``python -m tools.released_verdicts`` writes ``data/verdicts/VERSION.csv``, which
`benchbook claims --since VERSION` compares with later verdicts.
"""

from datetime import UTC, datetime

import pandas as pd

from benchbook import paths
from benchbook.cli.claims_since import COLUMNS
from benchbook.version import read_version


def main() -> None:
    """Write the file."""
    claims = pd.read_csv(paths.reference() / "claims.csv")[[*COLUMNS]]
    claims["estimate"] = [float(f"{estimate:.4g}") for estimate in claims["estimate"]]
    claims.insert(0, "released", f"{datetime.now(UTC):%Y-%m-%d}")
    claims.to_csv(paths.released_verdicts() / f"{read_version()}.csv", index=False)


if __name__ == "__main__":
    main()
