"""A fresh Python process, in which nothing is loaded or warm before the measured code runs."""

import json
import subprocess
import sys
from typing import Any


def run_code(code: str, *arguments: str) -> Any:
    """Run Python code in a fresh process and return the JSON document that it prints."""
    command = [sys.executable, "-c", code, *arguments]
    ended = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(ended.stdout)
