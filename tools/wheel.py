"""How hatchling builds the wheel: the lessons' package stands in it twice, to be imported and beside its lessons."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Lessons(BuildHookInterface):  # type: ignore[type-arg]
    """Adds it where Python finds it; an editable install, which finds it in the checkout, has no copy."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say what else is to be held."""
        if version == "standard":
            build_data["force_include"]["notebooks/lessons/benchbook_lessons"] = "benchbook_lessons"
