"""URLs that people give for downloads."""

from __future__ import annotations

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.http.urls import Url, UrlError, read_url, shown_url

_SHAPE = "give a URL of http or https, or a path"
_SECRET = "the lock file would contain it: keep it in ~/.netrc, or download the file yourself"


def checked_url(url: str) -> Url:
    """Return a URL of http or https; raises InputError for any other, or with a password."""
    place = Location(shown_url(url))
    try:
        found = read_url(url)
    except UrlError:
        raise InputError("is not an http or https URL", place, _SHAPE) from None
    if found.authorization:
        raise InputError("a URL must not contain a name or password", place, _SECRET)
    return found
