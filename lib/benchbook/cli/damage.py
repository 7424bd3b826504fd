"""What the results' folder holds that is no result: told on stderr, and set aside."""

import sys

from benchbook.results import aside, inventory


def tell() -> None:
    """Set damaged results aside; say so, and name what is not read, a line each."""
    lines = aside.set_aside()
    if others := inventory.strangers():
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        lines.append(f"{others[0]}{more}: no result's name, not read")
    for line in lines:
        print("benchbook: " + "".join(one if one.isprintable() else "?" for one in line), file=sys.stderr)
