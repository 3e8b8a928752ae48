"""Which URLs are asked at all."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from chartkit.errors import InputError
from chartkit.model import Location

SCHEMES: Final = ("http", "https")


def is_url(text: str) -> bool:
    """Whether a source is named by a URL."""
    return "://" in text


def split_url(url: str) -> SplitResult:
    """The parts of a URL of http or https; raises InputError for any other, or with a password."""
    place = Location(url)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InputError("is no URL", place) from None
    if parts.username or parts.password:
        hint = "it would stand in the lock file: keep it in ~/.netrc, or download the file yourself"
        raise InputError("a URL with a name or password is not taken", Location(str(host)), hint)
    if parts.scheme.lower() not in SCHEMES or not host:
        hint = "give a URL of http or https, or a path"
        raise InputError("is no URL of http or https", place, hint)
    return parts
