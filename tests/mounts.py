"""File systems in memory, which only root can mount."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mount_memory(folder: Path, options: str, kind: str) -> Iterator[Path]:
    """Mount a file system in memory at a folder; skip the test where that is impossible.

    Parameters
    ----------
    options
        Those of mount(8), such as ``size=16k``.
    kind
        An adjective for the reason of the skip, such as ``small``.
    """
    refusal = "needs root"
    if os.geteuid() == 0:
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        refusal = subprocess.run(mount, capture_output=True, text=True).stderr.strip()
    if not os.path.ismount(folder):
        pytest.skip(f"a {kind} file system cannot be mounted: {refusal}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
