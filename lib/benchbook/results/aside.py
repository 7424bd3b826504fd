"""Damaged files are set aside, told of, and never removed; while a run writes, they are only left out."""

import os
from pathlib import Path

from benchbook.results import inventory, lock
from benchbook.results.inventory import Damage


def set_aside() -> list[str]:
    """Move damaged files out of their cells' names, and return a line for each.

    Only while no run replaces files: what was damaged may be whole by then.
    """
    found = inventory.damaged()
    if not found:
        return []
    try:
        with lock.held():
            return [_moved(one) for one in inventory.damaged()]
    except lock.BusyError:
        why = "a run writes there at present"
    except OSError as error:
        why = f"it cannot be set aside: {error.strerror}"
    return [f"{one.path} is damaged ({one.why}) and left out; {why}" for one in found]


def _moved(one: Damage) -> str:
    said = f"{one.path} is damaged ({one.why})"
    place = _free(one.path)
    try:
        one.path.rename(place)
    except OSError as error:
        return f"{said} and left out; it cannot be set aside: {error.strerror}"
    return f"{said}: set aside as {place.name}, its cell will be measured again"


def _free(path: Path) -> Path:
    """Return the first name beside the file that nothing has."""
    place, number = path.with_name(f"{path.name}{inventory.ASIDE}"), 1
    while os.path.lexists(place):
        number += 1
        place = path.with_name(f"{path.name}{inventory.ASIDE}.{number}")
    return place
