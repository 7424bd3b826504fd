"""A kernel that executes notebooks: the folder and environment it works in, what it imports, and its launch.

It finds nothing of the user's: its environment is `environment`'s, its home an empty folder in the run's, and it reads
no configuration of IPython's or Jupyter's, wherever that lies.
"""

import gc
import importlib
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from benchbook import folders, paths, processes
from benchbook.folders import Folder

_MODULES: Final = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger", "IPython.core.application"),
    *("pandas", "pyarrow.parquet", "pydantic"),
)
"""What each kernel imports."""

NO_THREADS: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What keeps numpy and pyarrow from starting threads where kernels are forked: a thread does not survive a fork."""

_LONGEST: Final = 66
"""Characters of a folder in which a kernel's sockets find room: macOS allows 104 in all."""


def new_folder() -> Folder:
    """Return a new folder for kernels' sockets, whose names would get longer elsewhere than the system allows."""
    usual = folders.temporary()
    return Folder("run", usual if len(str(usual)) <= _LONGEST else Path("/tmp"))


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of kernels that work in a folder: home and temporary files lie there, and end with it.

    What names the suite's own things is passed on (``BENCHBOOK_*``). Matplotlib keeps its list of fonts in the
    checkout, for making it takes seconds.
    """
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    fonts = paths.fonts() if os.access(paths.fonts().parents[1], os.W_OK) else home
    own = {name: value for name, value in os.environ.items() if name.startswith("BENCHBOOK_")}
    return processes.environment(home, TMPDIR=str(home), MPLCONFIGDIR=str(fonts), **own)


def preload(modules: Iterable[str]) -> None:
    """Import what each kernel needs, and these modules, before kernels are forked."""
    _leave_out_debugger()
    for name in (*_MODULES, *modules):
        # Of a driver that is missing here, the cells that need it will say so.
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    # Else each kernel's first full collection would go through all that is imported, and copy its pages.
    gc.freeze()


def launch(arguments: list[str]) -> int | None:
    """Be a kernel, which reads no configuration and keeps no history (in a database that another thread writes)."""
    _leave_out_debugger()
    from ipykernel.kernelapp import IPKernelApp
    from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS

    # The user's are in the home that a kernel does not see.
    ENV_CONFIG_DIRS.clear()
    SYSTEM_CONFIG_DIRS.clear()
    arguments = ["--HistoryManager.enabled=False", *arguments]
    sys.argv = ["ipykernel_launcher", *arguments]
    status: int | None = IPKernelApp.launch_instance(argv=arguments)
    return status


def _leave_out_debugger() -> None:
    """Let ipykernel find no debugger, which it would import where it is installed: nobody debugs a cell."""
    sys.modules["debugpy"] = None  # type: ignore[assignment]
