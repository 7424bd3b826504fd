"""Messages about servers that failed: how it ended, a remedy, and no password.

Messages of drivers, harnesses and tracebacks go through `scrub_passwords`. It knows the addresses
in the environment (``BENCHBOOK_..._URL``) and those of the deployment that the runner announces. A
password is found as it is in the address, decoded, and as drivers, Python and JSON quote it.
"""

import base64
import html
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote

from benchbook.registry.products import PRODUCTS
from benchbook.servers.deployment import load_deployment

PORT_TAKEN: Final = r"[Aa]ddress .*already in use|\beaddrinuse\b"
"""How a server's log says that another process has its port; the last is Erlang's."""

_REMEDIES: Final = {
    r"No space left on device|Disk quota exceeded|Disk is full writing"
    r"|[Ee]rr(?:or|code:) 28\b|out of disk space|\benospc\b": (
        "the disk is full: free some of it, or point TMPDIR elsewhere"
    ),
    r"error while loading shared libraries: (?P<what>\S+?):": (
        "a library is missing: install what provides {what}"
    ),
    PORT_TAKEN: "every port it tried was taken: start again",
    r"Permission denied|\beacces\b": (
        "the server's user must reach its folder and programs: check TMPDIR and their permissions"
    ),
    r"could not map anonymous shared memory|Cannot allocate memory": (
        "memory ran out: end something, start again"
    ),
    r"Too many open files|\bemfile\b": "too few files may be open: ulimit -n 1024",
    r"can't start new thread|Failed to launch worker thread|pthread_create"
    r"|[Uu]nable to create (?:new )?native thread": (
        "no more processes or threads may start: end some, or raise ulimit -u"
    ),
    r"127\.0\.0\.1\b.*Network is unreachable": (
        "this machine cannot reach itself: ip link set lo up"
    ),
}
"""Patterns in a log, with their remedies."""

_SHORT_PASSWORD: Final = 4
"""Shorter passwords are masked only in quotes or addresses: no "a" would be left otherwise."""

_OWN_WORDS: Final = {"benchbook", *PRODUCTS}
"""A password that is one of our words is masked only in addresses: else a mask would reveal it."""


class ServerError(RuntimeError):
    """A server could not be found, started, reached or used; the message has no password."""

    def __init__(self, message: str | None) -> None:
        super().__init__(scrub_passwords(message or "it ended"))


def read_log_end(log: Path) -> str:
    """Return the end of a log; empty where there is no file."""
    # Space is reserved ahead, as zeros.
    text = log.read_bytes().rstrip(b"\0") if log.exists() else b""
    return text[-65_536:].decode(errors="replace")


def quote_last_lines(text: str) -> str:
    """Return the last informative lines of a log, indented.

    These are lines with an error, else those without MongoDB's information.
    """
    lines = text.strip().splitlines()
    errors = [line for line in lines if "[ERROR]" in line]
    telling = errors or [line for line in lines if '"s":"I"' not in line] or lines
    quoted = [f"    {line[:400]}" for line in telling[-8:]]
    return "\n".join(quoted) or "    (nothing)"


def add_remedy(text: str) -> str:
    """Return an error's text, with a remedy where one is known."""
    advice = _find_advice(text)
    return f"{text}: {advice}" if advice else text


def find_remedy(text: str, status: int | None) -> str:
    """Return a remedy for a server that wrote `text` and ended with `status`."""
    advice = _find_advice(text)
    if advice:
        return advice
    if status == -signal.SIGILL:
        return (
            "this processor does not have the needed instructions (MongoDB from 5.0 on: AVX):"
            " give an address instead"
        )
    if status == -signal.SIGKILL:
        return "something killed it: see whether memory ran out"
    return "the cause is unknown"


def describe_failed_program(ended: subprocess.CompletedProcess[str]) -> str:
    """Return that a program does not run, with a remedy and its last line."""
    lines = (ended.stderr or ended.stdout).strip().splitlines() or ["silent"]
    return f"does not run: {find_remedy(ended.stderr, ended.returncode)} ({lines[-1]})"


def describe_exit(status: int) -> str:
    """Return how a process ended: by a signal, or with a status."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _find_advice(text: str) -> str | None:
    for pattern, advice in _REMEDIES.items():
        match = re.search(pattern, text)
        if match:
            return advice.format(**match.groupdict())
    return None


def scrub_passwords(text: str, urls: Iterable[str] = ()) -> str:
    """Return a text without the passwords of these and all known addresses."""
    known = [url for name, url in os.environ.items() if re.fullmatch(r"BENCHBOOK_\w+_URL", name)]
    pattern = _compile_pattern(tuple(dict.fromkeys((*urls, *known, *_read_announced_urls()))))
    return pattern.sub("***", text) if pattern else text


def strip_login(url: str) -> str:
    """Return an address without user, password and options, up to its last ``@``."""
    scheme, slashes, rest = url.partition("://")
    return scheme + slashes + re.split(r"[?#]", rest.rpartition("@")[2])[0]


def _read_announced_urls() -> list[str]:
    try:
        deployment = load_deployment()
    except (OSError, ValueError, TypeError, KeyError):
        # The code that uses the deployment reports what is wrong with its file.
        return []
    return [node.url for node in deployment.nodes] if deployment else []


@cache
def _compile_pattern(urls: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that finds the addresses' passwords, the longest first."""
    patterns: dict[str, None] = {}
    for url in urls:
        patterns |= dict.fromkeys(_yield_patterns(url))
    return re.compile("|".join(sorted(patterns, key=len, reverse=True))) if patterns else None


def _yield_patterns(url: str) -> Iterator[str]:
    # Find the passwords: before the host, and in the options.
    login, at, _ = (url.partition("://")[2] or url).rpartition("@")
    user, _, password = login.partition(":")
    query = url.partition("?")[2].partition("#")[0]
    secrets = [password] if at and password else []
    for name, value in parse_qsl(query):
        if re.search("pass|pwd|secret|token", name, re.IGNORECASE):
            secrets.append(value)
    for secret in secrets:
        for form in _quote_in_all_ways(secret):
            yield from _yield_password_patterns(form)
    # HTTP's basic authentication encodes user and password together.
    if at and password:
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        yield re.escape(base64.b64encode(pair).decode())


def _quote_in_all_ways(secret: str) -> set[str]:
    """Return a password as it is in the address and decoded, each quoted up to twice."""
    forms = {secret, unquote(secret)}
    for _ in range(2):
        quoted = set[str]()
        for quote_once in _QUOTINGS:
            quoted |= {quote_once(form) for form in forms}
        forms |= quoted
    return forms


def _yield_password_patterns(form: str) -> Iterator[str]:
    """Yield patterns of a form where it is a password: a word is not masked inside another word."""
    # An escape may be in large or in small letters.
    pattern = re.sub(r"%([0-9A-Fa-f]{2})", lambda code: f"%(?i:{code[1]})", re.escape(form))
    if form in _OWN_WORDS or len(form) < _SHORT_PASSWORD:
        yield rf"(?<=:){pattern}(?=@)"
    if len(form) < _SHORT_PASSWORD:
        yield rf"(?<=['\"`]){pattern}(?=['\"`])"
    elif form not in _OWN_WORDS:
        yield rf"(?<!\w){pattern}(?!\w)" if form.isalpha() else pattern


_QUOTINGS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: quote(text, safe=""),
    quote,
    quote_plus,
    lambda text: repr(text)[1:-1],
    lambda text: ascii(text)[1:-1],
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: text.replace("%", "%%"),
    lambda text: text.replace("'", "''"),
    lambda text: text.replace("\\", "\\\\"),
    html.escape,
    lambda text: " ".join(text.split()),
)
"""How programs quote a text that they print."""
