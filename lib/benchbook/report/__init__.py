"""The report: the final notebook, its figures and `report.html`, and what studies' notebooks show.

Begin with `build_report` in `build`. The final notebook calls `merged_run` for what was measured,
`text` for sentences and `sections` for HTML; a study's notebook calls `notebooks` for its answer.
`artefact` writes a run as a folder for those who review it.
"""
