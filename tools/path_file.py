"""An editable install's path file, written in ASCII, so that every locale can read it.

Until Python 3.13 the path file is read in the locale's encoding. A checkout whose path has other
letters would end every command with a ``UnicodeDecodeError`` under ``LC_ALL=C``, or where
``LC_ALL`` names a locale that is not installed (python/cpython#77102).

``setup.sh`` runs this file by itself, without site packages, because they cannot be read yet.
"""

import sys
from pathlib import Path


def rewrite_path_file(file: Path) -> None:
    """Replace folders that are not ASCII by one line of Python that adds them.

    Parameters
    ----------
    file
        The ``.pth`` file. One in ASCII stays as it is, because type checkers and editors read
        only plain folders.
    """
    content = file.read_bytes()
    if content.isascii():
        return
    folders = ", ".join(repr(line) for line in content.splitlines() if line)
    # Bytes, because the name of a folder as text depends on the locale, too.
    file.write_text(f"import os, sys; sys.path += map(os.fsdecode, [{folders}])\n", "ascii")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite_path_file(Path(name))
