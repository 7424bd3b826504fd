"""Compare each versioned unit with the committed digest of its code, or accept its code.

``python -m tools.versions`` names each unit whose code differs, and its files.

``python -m tools.versions accept UNIT...`` writes a unit's ``VERSION`` and the digest of its code
into ``lib/benchbook/grid/units.json``. Raise the ``VERSION`` before, where the change may move what
is measured: then the unit's cells are measured anew. Where it cannot, keep the number, and say in
the commit why nothing measured can move (``benchmarks/unmoved.py`` shows it). ``accept all`` takes
every unit, as after a merge.
"""

import json
import re
import sys
from pathlib import Path
from typing import Final

from benchbook.grid.units import COMMITTED, LIBRARY, UNITS, digest_unit, list_files, read_committed

_VERSION: Final = re.compile(r"^(?:// )?VERSION = (\d+)$", re.MULTILINE)


def read_version(unit: str) -> int:
    """Return the version that a unit's files state; exit when it is not exactly one."""
    version = UNITS[unit].version
    if version is not None:
        return version
    stated: list[str] = []
    for file in list_files(unit):
        stated += _VERSION.findall(file.read_text(encoding="utf-8"))
    if len(stated) != 1:
        sys.exit(
            f"{unit}: {len(stated)} lines `VERSION = n` in its files, and exactly one must be there"
        )
    return int(stated[0])


def find_differing() -> list[str]:
    """Return one line per unit that differs from its committed digest, with files and remedy."""
    lines = []
    for unit in UNITS:
        if read_committed().get(unit) != (read_version(unit), digest_unit(unit)):
            files = ", ".join(map(_name_file, list_files(unit)))
            lines.append(
                f"unit {unit} differs from its committed digest ({files}): if what it measures may"
                f" move, raise its VERSION; then run python -m tools.versions accept {unit}"
            )
    return lines


def _name_file(path: Path) -> str:
    """Return a file's path in the checkout."""
    folder = LIBRARY.parents[1]
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name


def accept_units(units: list[str]) -> None:
    """Write the versions and digests of some units."""
    # When all units are written, the file is not read: a merge may have left it in pieces.
    committed = {} if units == [*UNITS] else read_committed()
    after = {unit: code for unit, code in committed.items() if unit in UNITS}
    for unit in units:
        after[unit] = read_version(unit), digest_unit(unit)
    lines = [f'  "{unit}": {json.dumps(code)}' for unit, code in sorted(after.items())]
    COMMITTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the command; return 1 when units differ from their committed digests, else 0."""
    if not arguments:
        lines = find_differing()
        for line in lines:
            print(line)
        return 1 if lines else 0
    if arguments[0] != "accept" or not {*arguments[1:]} <= {*UNITS, "all"}:
        sys.exit(
            f"python -m tools.versions [accept UNIT... | accept all]; the units: {', '.join(UNITS)}"
        )
    accept_units([*UNITS] if "all" in arguments else arguments[1:])
    print(
        f"{COMMITTED} is written. Where a unit has its former version, say in the commit why"
        " nothing measured can move."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
