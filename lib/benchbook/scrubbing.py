"""Messages without the passwords of servers' addresses: what drivers, harnesses and tracebacks say goes through here.

Known are the addresses in the environment (``BENCHBOOK_..._URL``) and the nodes of the deployment that a runner
announced; who has others names them. A password is found as it stands in the address, decoded, and in the ways in which
drivers, Python and JSON quote it.
"""

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote

from benchbook.deployment import announced
from benchbook.registry import PRODUCTS

MASK: Final = "***"

_VARIABLE: Final = re.compile(r"BENCHBOOK_\w+_URL")
_SECRET: Final = re.compile(r"pass|pwd|secret|token", re.IGNORECASE)
_SHORT: Final = 4
"""Shorter passwords are masked only where quoted or in an address: a message without any "a" says nothing."""
_COMMON: Final = {"benchbook", *PRODUCTS}
"""Words of our own: one that is a password is masked in addresses alone, for a mask elsewhere would tell it."""


def scrubbed(text: str, urls: Iterable[str] = ()) -> str:
    """Return a text without the passwords of these addresses, the environment's and the announced deployment's."""
    known = [url for name, url in os.environ.items() if _VARIABLE.fullmatch(name)]
    pattern = _pattern(tuple(dict.fromkeys((*urls, *known, *_announced()))))
    return pattern.sub(MASK, text) if pattern else text


def shown(url: str) -> str:
    """Return an address without user, password and options: whatever stands before its last ``@`` is left out."""
    scheme, slashes, rest = url.partition("://")
    return scheme + slashes + re.split(r"[?#]", rest.rpartition("@")[2])[0]


def _announced() -> list[str]:
    try:
        deployment = announced()
    except (OSError, ValueError, TypeError, KeyError):  # what is wrong with it is told by who needs it
        return []
    return [node.url for node in deployment.nodes] if deployment else []


@cache
def _pattern(urls: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds the addresses' passwords, the longest first."""
    forms = {form: None for url in urls for form in _forms(url)}
    return re.compile("|".join(sorted(forms, key=len, reverse=True))) if forms else None


def _forms(url: str) -> Iterator[str]:
    """Yield patterns of an address's passwords."""
    login, at, _ = (url.partition("://")[2] or url).rpartition("@")
    user, _, password = login.partition(":")
    query = url.partition("?")[2].partition("#")[0]
    secrets = [password] if at and password else []
    secrets += [value for name, value in parse_qsl(query) if _SECRET.search(name)]
    for secret in secrets:
        for form in _written(secret):
            yield from _standing(form)
    if at and password:
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        yield re.escape(base64.b64encode(pair).decode())


def _written(secret: str) -> set[str]:
    """Return a password as it is given, decoded, and as either is quoted, by one or two hands."""
    forms = {secret, unquote(secret)}
    for _ in range(2):
        forms |= {way(form) for form in forms for way in _WAYS}
    return forms


def _standing(form: str) -> Iterator[str]:
    """Yield the patterns of a form where it stands as a password: one that is a word, not within another word."""
    pattern = re.sub(r"%([0-9A-Fa-f]{2})", lambda code: f"%(?i:{code[1]})", re.escape(form))
    if form in _COMMON or len(form) < _SHORT:
        yield rf"(?<=:){pattern}(?=@)"
    if len(form) < _SHORT:
        yield rf"(?<=['\"`]){pattern}(?=['\"`])"
    elif form not in _COMMON:
        yield rf"(?<!\w){pattern}(?!\w)" if form.isalpha() else pattern


def _json(text: str, *, ensure_ascii: bool = True) -> str:
    return json.dumps(text, ensure_ascii=ensure_ascii)[1:-1]


_WAYS: Final = (
    lambda text: quote(text, safe=""),
    quote,
    quote_plus,
    lambda text: repr(text)[1:-1],
    lambda text: ascii(text)[1:-1],
    _json,
    lambda text: _json(text, ensure_ascii=False),
    lambda text: text.replace("%", "%%"),
    lambda text: text.replace("'", "''"),
    lambda text: text.replace("\\", "\\\\"),
    html.escape,
    lambda text: " ".join(text.split()),
)
"""How a text may be written by what prints it."""
