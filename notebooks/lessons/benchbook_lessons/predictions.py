"""Predictions: what a student expects before anything runs, and how far off it was."""

import io
from collections.abc import Mapping
from html import escape
from math import ceil, floor, log10
from typing import Any, Final

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchbook.plots import style
from benchbook_lessons.feedback import FormError, is_number, is_open, read_number, shorten

NEAR: Final = 1.25
"""A prediction within this factor of the result counts as very near."""

DOTS_PER_INCH: Final = 100
"""The figure's resolution as JupyterLab shows it."""


class Predictions:
    """A student's predictions, written down before anything ran."""

    def __init__(self, **guesses: Any) -> None:
        self.guesses = guesses

    def _repr_html_(self) -> str:
        left = [name.replace("_", " ") for name, guess in self.guesses.items() if is_open(guess)]
        if left:
            return (
                "<b>Before you run on</b>, write a number in place of each <code>...</code> "
                f"({escape(', '.join(left))}). You learn most from a prediction that was made"
                " before, and was wrong."
            )
        try:
            guesses = {name.replace("_", " "): guess for name, guess in self.guesses.items()}
            written = [f"{name} {read_number(guess, name):g}" for name, guess in guesses.items()]
        except FormError as reason:
            return (
                f"<b>Before you run on</b>: {escape(str(reason))} Leave out units and quotation"
                " marks."
            )
        return f"Written down: {escape(', '.join(written))}."

    def compare(self, **results: float) -> "Outcomes":
        """Return the predictions with the results of the same names."""
        return Outcomes(self.guesses, results)


class Outcomes:
    """Predictions with their results. A notebook shows them as a figure."""

    def __init__(self, guesses: Mapping[str, Any], results: Mapping[str, float]) -> None:
        self.rows = [
            (name.replace("_", " "), guesses.get(name, ...), value)
            for name, value in results.items()
        ]

    def __repr__(self) -> str:
        return "\n".join(
            f"{name}: predicted {_format_guess(guess)}, result {_format_number(value)}:"
            f" {describe_distance(guess, value)}"
            for name, guess, value in self.rows
        )

    def draw(self) -> Figure:
        """Draw each prediction as a multiple of its result, on a log axis."""
        factors = [
            float(guess) / value if _has_distance(guess, value) else None
            for _, guess, value in self.rows
        ]
        # The right prediction is in the middle, and every dot is inside.
        distances = [max(factor, 1 / factor) for factor in factors if factor is not None]
        reach = 2.5 * max([12.0, *distances])
        with style.use_style():
            figure, axes = plt.subplots(
                figsize=(7.6, 0.52 * len(self.rows) + 1.1), layout="constrained"
            )
            axes.axvspan(1 / NEAR, NEAR, color=style.GREEN, alpha=0.15, lw=0)
            axes.axvline(1, color=style.GREEN, lw=1.2)
            for at, ((name, guess, value), factor) in enumerate(
                zip(self.rows, factors, strict=True)
            ):
                _write_beside(axes, -0.02, at, name, -5, style.INK, "right")
                numbers = f"you: {_format_guess(guess)}, result: {_format_number(value)}"
                _write_beside(axes, -0.02, at, numbers, 6, style.FAINT, "right")
                words = describe_distance(guess, value)
                if factor is None:
                    _write_beside(axes, 1.02, at, words, 0, style.FAINT, "left")
                    continue
                colour = style.GREEN if _is_near(factor) else style.BLUE
                axes.plot([1, factor], [at, at], color=colour, lw=1.5, alpha=0.5)
                axes.plot(factor, at, "o", color=colour, ms=7)
                _write_beside(axes, 1.02, at, words, 0, colour, "left")
            axes.set(
                title="The nearer to the green line, the better the prediction",
                xlabel="prediction / result",
                xscale="log",
                xlim=(1 / reach, reach),
                yticks=[],
                ylim=(len(self.rows) - 0.4, -0.6),
            )
            axes.spines["left"].set_visible(False)
            # At most two ticks on each side, so that their labels stay apart.
            step = 10 ** ceil(floor(log10(reach)) / 2)
            ticks = [step**power for power in (-2.0, -1.0, 0.0, 1.0, 2.0)]
            ticks = [tick for tick in ticks if 1 / reach < tick < reach]
            axes.set_xticks(ticks, [_format_factor(tick) for tick in ticks])
            axes.minorticks_off()
        plt.close(figure)
        return figure

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        picture = io.BytesIO()
        figure = self.draw()
        figure.savefig(picture, format="png", dpi=2 * DOTS_PER_INCH)
        # Twice the pixels in the same width: sharp on a fine screen.
        return picture.getvalue(), {"width": round(figure.get_figwidth() * DOTS_PER_INCH)}


def _write_beside(
    axes: Axes, x: float, row: int, words: str, down: int, colour: str, side: str
) -> None:
    """Write words left or right of a row, some points below its middle."""
    axes.annotate(
        words,
        (x, row),
        (0, -down),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        color=colour,
        ha=side,
        va="center",
        annotation_clip=False,
    )


def _has_distance(guess: Any, value: float) -> bool:
    return is_number(guess) and guess > 0 and value > 0


def _is_near(factor: float) -> bool:
    return 1 / NEAR < factor < NEAR


def _format_number(number: float) -> str:
    """Return a number with three digits, without an exponent where it is large."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def _format_guess(guess: Any) -> str:
    if is_open(guess):
        return "nothing"
    return _format_number(float(guess)) if is_number(guess) else shorten(guess)


def _format_factor(factor: float) -> str:
    """Return a tick's label: one tenth as a fraction, one as the word for a right prediction."""
    if factor == 1:
        return "right"
    return f"{factor:,.0f}" if factor > 1 else f"1/{1 / factor:,.0f}"


def describe_distance(guess: Any, value: float) -> str:
    """Say how far a prediction is from its result, as a factor."""
    if is_open(guess):
        return "not written down before"
    if not is_number(guess):
        return "a number was expected"
    if not _has_distance(guess, value):
        return "write a number above 0"
    factor = float(guess) / value
    if _is_near(factor):
        return "very near"
    side = "large" if factor > 1 else "small"
    times = max(factor, 1 / factor)
    return f"{times:.2g} times too {side}" if times < 10 else f"{times:,.0f} times too {side}"
