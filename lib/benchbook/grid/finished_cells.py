"""Finished cells: which results in the folder a run would give today, and which are the user's."""

from collections.abc import Iterable

from benchbook.grid.cell_id import digest_records, identify_cell
from benchbook.grid.cells import (
    combine,
    find_platform,
    list_earlier_identities,
    read_parameters,
)
from benchbook.grid.expansion import choose_cells
from benchbook.grid.grid_file import load_grid
from benchbook.results.folder import open_results
from benchbook.studies.catalogue import SLUGS


def list_finished_ids(study: str | None = None) -> set[str]:
    """Return the identities of finished cells that a run would give today."""
    return _keep_current(_list_finished(study))


def list_user_ids() -> set[str]:
    """Return the identities of finished cells with a user's own levels or records."""
    finished = _list_finished()
    if not finished:
        return set()
    # Every combination of every profile of the papers' studies.
    planned = set()
    for slug in SLUGS:
        for profile in load_grid(slug).profiles:
            for cell in choose_cells([slug], profile, [], []):
                planned.add(combine(slug, cell.parameters))
    others = [row for row in finished if row[1] in SLUGS and row[1:] not in planned]
    return _keep_current(others)


def list_current_refusals(study: str) -> list[str]:
    """Return why servers refuse a user's records, each reason once; of cells of today's code."""
    refusals = open_results().list_refusals(study)
    rows = []
    for result in open_results().list_files(study):
        facts = result.facts
        if facts.cell_id in refusals:
            rows.append((facts.cell_id, facts.study, str(facts.parameters)))
    return sorted({refusals[identity] for identity in _keep_current(rows)})


def _list_finished(study: str | None = None) -> list[tuple[str, str, str]]:
    """Return identity, study and parameters in JSON of the cells that finished here, each once."""
    rows: dict[tuple[str, str, str], None] = {}
    for result in open_results().list_files(study):
        facts = result.facts
        if facts.state == "done":
            rows[facts.cell_id, facts.study, str(facts.parameters)] = None
    return list(rows)


def _keep_current(rows: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the identities that a run would give today, by identity, study and parameters."""
    identities = set()
    for old, study, text in rows:
        parameters = read_parameters(study, text)
        if parameters is None:
            continue
        try:
            digest_records(parameters)
        except (ValueError, KeyError):
            # The user's file is gone.
            continue
        server = find_platform(study, parameters).version
        earlier = list_earlier_identities(study, parameters, server)
        if identify_cell(study, parameters, server) == old or (old, None) in earlier:
            identities.add(old)
    return identities
