"""`make lab`: JupyterLab on this machine, the same whatever the user's own Jupyter is set to."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchbook import paths

FIRST: Final = "notebooks/00_start_here.ipynb"
_OF_THE_USER: Final = ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH", "JUPYTERLAB_DIR", "JUPYTERLAB_SETTINGS_DIR",
                       "JUPYTERLAB_WORKSPACES_DIR", "PYTHONSTARTUP")  # fmt: skip
_OWN: Final = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
               "IPYTHONDIR": "ipython"}  # fmt: skip
_SETTINGS: Final = Path(__file__).with_name("jupyterlab_settings")
_OF_A_SESSION: Final = ("collapsed", "execution", "jupyter", "scrolled", "trusted")


def command(root: Path, first: str = FIRST) -> list[str]:
    """Return what starts JupyterLab in a folder, opened at a file; it asks nothing of any other machine."""
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.root_dir": root,
        "LabApp.default_url": f"/lab/tree/{first}",
        "LabApp.news_url": None,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
        # between server and kernel, else any account of the machine may listen
        "MappingKernelManager.transport_encryption": "auto",
        "FileContentsManager.pre_save_hook": "benchbook.jupyterlab.without_outputs",
    }
    allowed = ["--allow-root"] if os.geteuid() == 0 else []
    return [sys.executable, "-m", "jupyterlab", *allowed, *(f"--{name}={value}" for name, value in options.items())]


def environment(home: Path) -> dict[str, str]:
    """Return this environment with this Python's commands first, and with settings of Jupyter that lie in a folder.

    JupyterLab's defaults are those of `_SETTINGS`: it would ask whether to fetch news, over the output of a cell.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_THE_USER}
    first = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    folders = {name: str(home / folder) for name, folder in _OWN.items()}
    return inherited | folders | {"JUPYTER_CONFIG_PATH": str(_SETTINGS), "PATH": first}


def without_outputs(model: dict[str, Any], path: str, contents_manager: Any, **_: object) -> None:
    """Save a notebook that is in git as git has it: its source, without outputs; a copy of it keeps its own.

    A hook of Jupyter's, called before a file is written.
    """
    file = Path(contents_manager.root_dir) / path
    if model["type"] != "notebook" or not _in_git(file):
        return
    committed = json.loads(file.read_text(encoding="utf-8"))
    model["content"]["metadata"] = committed["metadata"]
    before = {cell.get("id"): cell["metadata"] for cell in committed["cells"]}
    for cell in model["content"]["cells"]:
        kept = {name: value for name, value in cell["metadata"].items() if name not in _OF_A_SESSION}
        in_git = before.get(cell.get("id"), {})
        cell["metadata"] = kept | {name: in_git[name] for name in _OF_A_SESSION if name in in_git}
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)


def _in_git(file: Path) -> bool:
    words = ["git", "-C", str(file.parent), "ls-files", "--error-unmatch", file.name]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:  # no git here
        return False


def main() -> None:
    """Become JupyterLab; further options are its own."""
    root = paths.root()
    os.execve(sys.executable, [*command(root), *sys.argv[1:]], environment(root / ".cache" / "jupyter"))


if __name__ == "__main__":
    main()
