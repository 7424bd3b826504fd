"""Hatchling's build hook: the wheel has the lessons' package twice.

Once it can be imported, and once it lies next to the lessons.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Lessons(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the package where Python finds it.

    An editable install has no copy, because Python finds it in the checkout.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the package to a standard wheel."""
        if version == "standard":
            build_data["force_include"]["notebooks/lessons/benchbook_lessons"] = "benchbook_lessons"
