"""``python -m benchbook.cli``."""

import sys

from benchbook.cli import main

sys.exit(main())
