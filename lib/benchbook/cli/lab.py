"""`make lab` and `make lessons`: JupyterLab here, whatever the settings of Jupyter elsewhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchbook import paths
from benchbook.own_data.opened_file import MAX_BYTES

FIRST_NOTEBOOK: Final = "notebooks/00_start_here.ipynb"

STUDENT_FOLDER: Final = "my_lessons"
"""The folder of a checkout where students work on copies of the lessons."""

USER_VARIABLES: Final = (
    "JUPYTER_CONFIG_PATH",
    "JUPYTER_PATH",
    "JUPYTERLAB_DIR",
    "JUPYTERLABSETTINGS_FOLDER_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
    "PYTHONSTARTUP",
)
"""Variables of the user's Jupyter, which are not passed on."""

FOLDER_VARIABLES: Final = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "IPYTHONDIR": "ipython",
}
"""Variables of Jupyter's folders, which get folders of their own."""

SETTINGS_FOLDER: Final = Path(__file__).with_name("jupyterlab_settings")

MAX_MESSAGE_BYTES: Final = MAX_BYTES + 2**20
"""Of a message from the browser: a picked file is one message, with some names around it."""

SESSION_METADATA: Final = ("collapsed", "execution", "jupyter", "scrolled", "trusted")
"""Metadata of a notebook cell that say how it was last used."""


def build_command(root: Path, first: str = FIRST_NOTEBOOK) -> list[str]:
    """Return the command that starts JupyterLab in a folder, opened at a file.

    It connects to no other machine.
    """
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.root_dir": root,
        "ServerApp.tornado_settings": {"websocket_max_message_size": MAX_MESSAGE_BYTES},
        "LabApp.default_url": f"/lab/tree/{first}",
        "LabApp.news_url": None,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
        # Between server and kernel, because other accounts of the machine could listen.
        "MappingKernelManager.transport_encryption": "auto",
        "FileContentsManager.pre_save_hook": "benchbook.cli.lab.remove_outputs",
    }
    allowed = ["--allow-root"] if os.geteuid() == 0 else []
    return [
        sys.executable,
        "-m",
        "benchbook.cli.lab_server",
        *allowed,
        *(f"--{name}={value}" for name, value in options.items()),
    ]


def build_environment(home: Path) -> dict[str, str]:
    """Return this environment, with this Python's commands first and Jupyter's folders in `home`.

    JupyterLab's defaults are those of `SETTINGS_FOLDER`; its own would ask whether to fetch news,
    above the output of a cell.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in USER_VARIABLES}
    first = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    folders = {name: str(home / folder) for name, folder in FOLDER_VARIABLES.items()}
    return inherited | folders | {"JUPYTER_CONFIG_PATH": str(SETTINGS_FOLDER), "PATH": first}


def remove_outputs(model: dict[str, Any], path: str, contents_manager: Any, **_: object) -> None:
    """Remove the outputs of a notebook that is in git before it is saved: a hook of Jupyter's.

    A copy that is not in git keeps its outputs.
    """
    file = Path(contents_manager.root_dir) / path
    if model["type"] != "notebook" or not _is_in_git(file):
        return
    committed = json.loads(file.read_text(encoding="utf-8"))
    model["content"]["metadata"] = committed["metadata"]
    before = {cell.get("id"): cell["metadata"] for cell in committed["cells"]}
    for cell in model["content"]["cells"]:
        in_git = before.get(cell.get("id"), {})
        metadata = cell["metadata"]
        for name in SESSION_METADATA:
            metadata.pop(name, None)
            if name in in_git:
                metadata[name] = in_git[name]
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)


def remove_outputs_of_checkout(
    model: dict[str, Any], path: str, contents_manager: Any, **_: object
) -> None:
    """Do so for notebooks of this checkout only: the hook of any Jupyter of its environment.

    Set-up writes it into that environment's settings. Notebooks of other projects stay as they are.
    """
    file = Path(contents_manager.root_dir) / path
    if file.resolve().is_relative_to(paths.root()):
        remove_outputs(model, path, contents_manager)


def copy_lessons(root: Path) -> None:
    """Copy the lessons into `STUDENT_FOLDER`, where students work; a file that is there stays.

    The copies are not in git, so they keep their outputs.
    """
    lessons, folder = root / "notebooks" / "lessons", root / STUDENT_FOLDER
    folder.mkdir(exist_ok=True)
    for path in [*sorted(lessons.glob("*.ipynb")), lessons / "glossary.md"]:
        if not (folder / path.name).exists():
            shutil.copyfile(path, folder / path.name)


def _is_in_git(file: Path) -> bool:
    words = ["git", "-C", str(file.parent), "ls-files", "--error-unmatch", file.name]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:  # no git here
        return False


def main() -> None:
    """Replace this process by JupyterLab.

    A first argument that is not an option is the file or folder to open.
    """
    options = sys.argv[1:]
    has_first = bool(options) and not options[0].startswith("-")
    first = options.pop(0) if has_first else FIRST_NOTEBOOK
    root = paths.root()
    copy_lessons(root)
    environment = build_environment(root / ".cache" / "jupyter")
    os.execve(sys.executable, [*build_command(root, first), *options], environment)


if __name__ == "__main__":
    main()
