"""`replication` recomputed: what no formula of ``data/findings/replication.yaml`` says."""

from benchbook.papers import recomputed


def single_readings() -> dict[str, int]:
    """Return how many averages there are, and how many are means of five readings: counted from the checks of them."""
    table = recomputed.checks("replication")
    agree = table[table["says"].str.contains("nearest mean of five readings")]["agrees"]
    return {"averages": len(agree), "agree": int(agree.sum())}
