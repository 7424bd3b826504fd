"""Images whose servers run on their makers' terms and need some memory to start."""

import os
from dataclasses import dataclass
from typing import Final

import psutil
from typing_extensions import override

from benchbook.registry.products import Image
from benchbook.text.number_format import format_size

TERMS_VARIABLE: Final = "ACCEPT_EULA"
"""The environment variable that is `ACCEPTED` where the user accepts a maker's terms."""

ACCEPTED: Final = "Y"


@dataclass(frozen=True)
class LicensedImage(Image):
    """An image that starts when the user has accepted its terms and there is enough memory."""

    memory_gb: float = 0.0

    @override
    def find_fault(self) -> str:
        if os.environ.get(TERMS_VARIABLE) != ACCEPTED:
            terms = f"{self.reference} runs on its maker's terms ({self.licence})"
            return f"{terms}: export {TERMS_VARIABLE}={ACCEPTED}, if you accept"
        free = psutil.virtual_memory().available
        if free < self.memory_gb * 1e9:
            needed = f"{self.reference} needs {self.memory_gb:g} GB of memory"
            return f"{needed}, {format_size(free)} are free"
        return ""
