"""The crud study's records: comments of about 1 KB, and their articles."""

from typing import Literal

from benchbook.datasets.dataset import Dataset, build_dataset
from benchbook.datasets.streams import ColumnDraws, make_moments
from benchbook.schema import Field, Parent, Schema

VERSION = 1


def _make_fields(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, "datetime" if name == "created_at" else "string") for name in names)


ARTICLES = Schema("articles", _make_fields("_id", "author", "created_at", "title"))
COMMENTS = Schema(
    "comments",
    _make_fields("_id", "article_id", "author", "email", "created_at", "title", "content"),
    parent=Parent(ARTICLES, "article_id"),
)

_START_OF_2013 = 1_356_998_400_000
_YEAR = 365 * 86_400_000
_USERS = 10_000


def generate_comments(n: int, seed: int, per_article: int | Literal["all"] = 10) -> Dataset:
    """Return `n` comments with the fields of the paper's Fig. 1; their articles are the parent.

    A comment has 1 KB as JSON on average (0.8 to 1.2 KB), of which its content is about 0.78 KB.
    Articles are of the year before.

    Parameters
    ----------
    n
        Comments.
    seed
        The seed of all columns.
    per_article
        Consecutive comments of the same article; ``"all"`` for one article. The paper does not say.
    """
    share = max(n, 1) if per_article == "all" else per_article
    if share < 1:
        raise ValueError(f'per_article is a number of comments >= 1 or "all", not {per_article}')
    count = -(-n // share)
    draw = ColumnDraws(seed, "articles", count)
    of_article = (
        draw.ids(),
        [f"utilizator{user}" for user in draw.numbers("author", 0, _USERS - 1)],
        make_moments(draw.integers("created_at", _START_OF_2013 - _YEAR, _START_OF_2013 - 1)),
        draw.texts("title", draw.integers("title.size", 24, 72)),
    )
    articles = build_dataset("articles", ARTICLES, of_article)
    draw = ColumnDraws(seed, "comments", n)
    users = draw.numbers("author", 0, _USERS - 1)
    columns = (
        draw.ids(),
        [articles.records[i // share]["_id"] for i in range(n)],
        [f"utilizator{user}" for user in users],
        [f"utilizator{user}@email.com" for user in users],
        make_moments(draw.integers("created_at", _START_OF_2013, _START_OF_2013 + _YEAR - 1)),
        draw.texts("title", draw.integers("title.size", 8, 40)),
        draw.texts("content", draw.integers("content.size", 594, 966)),
    )
    return build_dataset(f"comments-{per_article}", COMMENTS, columns, (articles,))
