"""URLs, read once: what is checked is what is connected to."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urljoin

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from chartkit.engine.services import BadUrlError
from chartkit.engine.values.quoting import quote
from chartkit.fetch.addresses import literal
from chartkit.services.hosts import PORTS, Place, normal

_MOST_SHOWN: Final = 200
_LONGEST_HOST: Final = 255
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_USER: Final = re.compile(r"(?<=//)[^/?#]*@")
_BEHIND: Final = re.compile(r"[?#].*", re.DOTALL)
_BEHIND_HOST: Final = re.compile(r"[/?#]")
_NO_HOST: Final = re.compile(r"[ \\^`{|}]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


@dataclass(frozen=True, slots=True)
class Destination:
    """host: as it is written, for the Host header and TLS; place: the same as hosts are compared;
    target: path and query; authorization: of the URL's user, empty for none."""

    url: str
    scheme: str
    host: str
    place: Place
    target: str
    authorization: str = ""

    @property
    def origin(self) -> tuple[str, Place]:
        """Who is meant, whatever is asked."""
        return self.scheme, self.place

    @property
    def shown(self) -> str:
        """The URL as messages have it."""
        return shown(self.url)


def shown(url: str) -> str:
    """A URL without name, password, query and what cannot be printed, in quotes."""
    text = _CONTROL.sub("", _BEHIND.sub("", _USER.sub("", url)))
    return quote(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")


def scheme_of(url: str) -> str:
    """The scheme that a URL is written with, in small letters; empty for none."""
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def read_url(url: str) -> Destination:
    """The parts of a URL of http or https; raises BadUrlError, in Go's words where it has them."""
    if _CONTROL.search(url):
        raise BadUrlError(f"parse {shown(url)}: net/url: invalid control character in URL")
    wrong = _NO_HOST.search(_BEHIND_HOST.split(url.partition("//")[2], maxsplit=1)[0])
    if wrong is not None:
        text = f"parse {shown(url)}: invalid character {quote(wrong[0])} in host name"
        raise BadUrlError(text)
    try:
        parts = parse_url(url)
    except (LocationParseError, UnicodeError):
        raise BadUrlError(f"parse {shown(url)}: invalid URL") from None
    scheme, host = parts.scheme or "", parts.host or ""
    if not host or len(host) > _LONGEST_HOST or scheme not in PORTS:
        raise BadUrlError(f"parse {shown(url)}: no host in the URL")
    compared = normal(host)
    address = literal(compared)
    place = Place(compared if address is None else str(address), parts.port or PORTS[scheme])
    user = "" if parts.auth is None else _basic(parts.auth)
    return Destination(url, scheme, host, place, parts.request_uri, user)


def redirected(here: Destination, location: str) -> str:
    """The URL that a Location means."""
    try:
        return urljoin(here.url, location)
    except ValueError:
        return location


def _basic(user: str) -> str:
    name, colon, password = user.partition(":")
    text = f"{unquote(name)}{colon}{unquote(password)}" if colon else f"{unquote(name)}:"
    return "Basic " + base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
