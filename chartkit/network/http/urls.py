"""URLs, read once: what is checked is what is connected to."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from chartkit.go.strconv import quote
from chartkit.network.http.addresses import literal
from chartkit.wording import shortened

PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
"""The schemes that are spoken, and the port that a URL means where it names none."""

SSH: Final = "ssh"
SSH_PORT: Final = 22

_MOST_SHOWN: Final = 200
_LONGEST_HOST: Final = 255
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_USER: Final = re.compile(r"(?<=//)[^/?#]*@")
_BEHIND: Final = re.compile(r"[?#].*", re.DOTALL)
_BEHIND_HOST: Final = re.compile(r"[/?#]")
_NO_HOST: Final = re.compile(r"[ \\^`{|}]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


class UrlError(ValueError):
    """A text that is not an http or https URL; in the words of Go's `net/url`, where it has any."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host, as `normal_host` writes it, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Url:
    """host: as it is written, for the Host header and TLS; host_port: as hosts are compared;
    target: path and query; authorization: of the URL's user, empty for none."""

    text: str
    scheme: str
    host: str
    host_port: HostPort
    target: str
    authorization: str = ""

    @property
    def path(self) -> str:
        """The target without the query."""
        return self.target.partition("?")[0]

    @property
    def absolute(self) -> str:
        """The URL as a proxy is asked for it."""
        port = "" if self.host_port.port == PORTS[self.scheme] else f":{self.host_port.port}"
        return f"{self.scheme}://{self.host}{port}{self.target}"

    @property
    def origin(self) -> tuple[str, HostPort]:
        """Scheme, host and port."""
        return self.scheme, self.host_port


def is_url(text: str) -> bool:
    """Tell whether a source is named by a URL."""
    return "://" in text


def shown_url(url: str) -> str:
    """Return a URL for people: without name, password, query, fragment and control characters."""
    text = _CONTROL.sub("", _BEHIND.sub("", _USER.sub("", url)))
    return shortened(text, _MOST_SHOWN)


def shown_source(source: str) -> str:
    """Return a path as it is, and a URL as `shown_url` does."""
    return shown_url(source) if is_url(source) else source


def scheme_of(url: str) -> str:
    """Return the scheme that a URL is written with, in small letters; empty for none."""
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def normal_host(host: str) -> str:
    """Return a host as hosts are compared: in small letters, without brackets and final dot."""
    return host.strip("[]").lower().rstrip(".")


def read_url(url: str) -> Url:
    """Read a URL of http or https; raises UrlError."""
    # Most commands ask of a text whether it is a URL, and read none.
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    if _CONTROL.search(url):
        raise UrlError("net/url: invalid control character in URL")
    wrong = _NO_HOST.search(_BEHIND_HOST.split(url.partition("//")[2], maxsplit=1)[0])
    if wrong is not None:
        raise UrlError(f"invalid character {quote(wrong[0])} in host name")
    try:
        parts = parse_url(url)
    except (LocationParseError, UnicodeError):
        raise UrlError("invalid URL") from None
    scheme, host = parts.scheme or "", parts.host or ""
    if not host or len(host) > _LONGEST_HOST or scheme not in PORTS:
        raise UrlError("no host in the URL")
    compared = normal_host(host)
    address = literal(compared)
    host_port = HostPort(compared if address is None else str(address), parts.port or PORTS[scheme])
    user = "" if parts.auth is None else _basic(parts.auth)
    return Url(url, scheme, host, host_port, parts.request_uri, user)


def _basic(user: str) -> str:
    name, colon, password = user.partition(":")
    text = f"{unquote(name)}{colon}{unquote(password)}" if colon else f"{unquote(name)}:"
    return basic_authorization(text)


def basic_authorization(user: str) -> str:
    """Return what the Authorization header says of `NAME:PASSWORD`."""
    return "Basic " + base64.b64encode(user.encode("utf-8", "replace")).decode("ascii")
