"""Which sentences of the papers compare, and what each claims: the map in `data/claims`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from benchbook.evidence.claims import Strict, Text


class Sentence(Strict):
    """A comparative sentence of a paper: where it stands, never its words; the claims it makes, or why it makes none.

    Parameters
    ----------
    section, sentence
        The section, and the sentence's number in it, from 1.
    sha
        The first 8 hexadecimal digits of the SHA-256 of the sentence: in lower case, every run of characters that are
        no letters and no digits a single space, none at the ends.
    """

    section: Text
    sentence: Annotated[int, Field(ge=1)]
    sha: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$", description="8 hexadecimal digits, in quotes")]
    claims: tuple[str, ...] = ()
    none: str = ""

    @model_validator(mode="after")
    def _maps_to_one(self) -> Self:
        if bool(self.claims) == bool(self.none):
            raise ValueError("a sentence has claims, or none with the reason; exactly one of them")
        return self
