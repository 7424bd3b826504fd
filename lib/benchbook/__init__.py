"""benchbook: rerun five published performance studies on the machine in front of you.

The packages are floors of one house; each imports only from the floors below it (``lint-imports``
holds this). Begin with `cli`, which leads to all of them, or with one of the walks of
CONTRIBUTING.md.
"""

from __future__ import annotations

# Type checkers know this name. `typing` is not imported here, because a module of PYTHONPATH may
# have its name until a command has isolated itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from benchbook.sides.answer import SidesAnswer


def versus(
    *sides: str | Callable[..., object],
    name: str | None = None,
    setup: str | Callable[[], object] | None = None,
    check: bool | Callable[[Any, Any], object] = False,
    blocks: int = 9,
    smallest: float = 0.05,
    prepare: str | None = None,
    timeout: float = 600.0,
    waits: bool = True,
) -> SidesAnswer:
    """Compare any two or more sides: each takes so many times as long as the first one.

    The sides take turns in fresh processes on a quiet machine. Blocks are kept in the results'
    folder: those of another day are pooled with them under the same name.

    Parameters
    ----------
    sides
        Commands as texts, or functions. A function takes what the setup returns, or nothing.
    name
        The question's name; None: one made from the sides.
    setup
        A command that runs once per block, or a function that runs once per block and side;
        untimed.
    check
        Whether all commands must print the same, or all functions return the same. A function
        takes the answers of the first side and of another one, and returns whether they agree.
    blocks
        How many blocks to measure; an interval needs five.
    smallest
        The smallest difference that matters: 0.05 for 5 %.
    prepare
        A command that runs before each run of a command, untimed.
    timeout
        Seconds after which a run is given up.
    waits
        Whether to wait for a quiet machine.

    Raises
    ------
    benchbook.sides.question.SidesError
        When a side fails or gives another answer.
    benchbook.results.folder.BusyError
        When a run measures at present.
    ValueError
        When the sides or numbers cannot be measured.
    """
    # Here, because most users of the package do not need it.
    from benchbook.sides.versus import compare_sides

    return compare_sides(
        sides,
        name=name,
        setup=setup,
        check=check,
        blocks=blocks,
        smallest=smallest,
        prepare=prepare,
        timeout_s=timeout,
        waits=waits,
    )
