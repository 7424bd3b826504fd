"""From observations to verdicts: block means, comparisons with their intervals, claims, A/A checks.

Begin with `runs`: `Run` finds a run's files, and `Analysis` computes each table from them.
The rule of judging is in `comparisons`, `intervals`, `claim_comparisons` and `verdicts`.
"""
