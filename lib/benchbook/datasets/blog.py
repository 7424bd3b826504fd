"""The crud study's records: comments of about 1 KB, and the articles that they belong to."""

from typing import Literal

from benchbook.datasets import Dataset, assemble
from benchbook.datasets.streams import Draws, moments
from benchbook.schemas import Field, Parent, Schema

VERSION = 1


def _fields(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, "datetime" if name == "created_at" else "string") for name in names)


ARTICLES = Schema("articles", _fields("_id", "author", "created_at", "title"))
COMMENTS = Schema(
    "comments",
    _fields("_id", "article_id", "author", "email", "created_at", "title", "content"),
    parent=Parent(ARTICLES, "article_id"),
)

_2013 = 1_356_998_400_000
_YEAR = 365 * 86_400_000
_USERS = 10_000


def comments(n: int, seed: int, per_article: int | Literal["all"] = 10) -> Dataset:
    """Return `n` comments with the fields of the crud study's Fig. 1, and their articles of the year before as parent.

    A comment's mean size as JSON is 1 KB (0.8 to 1.2 KB), of which the content is some 0.78 KB.

    `per_article` consecutive comments share an article, or ``"all"`` a single one: the paper does not say.
    """
    share = max(n, 1) if per_article == "all" else per_article
    if share < 1:
        raise ValueError(f'per_article is a number of comments >= 1 or "all", not {per_article}')
    count = -(-n // share)
    draw = Draws(seed, "articles", count)
    of_article = (
        draw.ids(),
        [f"utilizator{user}" for user in draw.numbers("author", 0, _USERS - 1)],
        moments(draw.integers("created_at", _2013 - _YEAR, _2013 - 1)),
        draw.texts("title", draw.integers("title.size", 24, 72)),
    )
    articles = assemble("articles", ARTICLES, of_article)
    draw = Draws(seed, "comments", n)
    users = draw.numbers("author", 0, _USERS - 1)
    columns = (
        draw.ids(),
        [articles.records[i // share]["_id"] for i in range(n)],
        [f"utilizator{user}" for user in users],
        [f"utilizator{user}@email.com" for user in users],
        moments(draw.integers("created_at", _2013, _2013 + _YEAR - 1)),
        draw.texts("title", draw.integers("title.size", 8, 40)),
        draw.texts("content", draw.integers("content.size", 594, 966)),
    )
    return assemble(f"comments-{per_article}", COMMENTS, columns, (articles,))
