"""JupyterLab without the settings of the machine's administrator, as `lab` starts it.

Those of a hub behind a login of its own turn the token off, which would let every account in here.
"""

from jupyter_core import paths
from jupyterlab.labapp import main  # type: ignore[import-untyped]

if __name__ == "__main__":
    # Jupyter has a variable for each folder of settings but these, such as /etc/jupyter.
    paths.SYSTEM_CONFIG_PATH.clear()
    main()
