"""URLs as Go's `net/url` takes them apart, as far as their host goes."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import unquote_to_bytes

from chartkit.engine.values.ip_address import address_problem
from chartkit.engine.values.quoting import quote

_HOST_CHARACTERS = frozenset(
    "!\"$&'()*+,-.0123456789:;<=>ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)?:")
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_PORT = re.compile(r"(?::[0-9]*)?\Z")
_USER_INFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class UrlError(ValueError):
    """A text that is no URL; the message is that of `url.Parse`."""


def host_name(text: str) -> str:
    """The host of a URL, without brackets and port; empty where it has none.

    Raises `UrlError`.
    """
    url, _, fragment = text.partition("#")
    try:
        host = _host(url)
    except UrlError as error:
        raise UrlError(f"parse {quote(url)}: {error}") from None
    try:
        _unescape(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None
    colon = host.rfind(":")
    if colon >= 0 and _PORT.match(host[colon:]):
        host = host[:colon]
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _host(url: str) -> str:
    if _CONTROL.search(url):
        raise UrlError("net/url: invalid control character in URL")
    if url == "*":
        return ""
    scheme, rest = _split_scheme(url)
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        if scheme:
            return ""
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _authority(scheme.lower(), authority), slash + path
    _unescape(rest)
    return host


def _split_scheme(url: str) -> tuple[str, str]:
    match = _SCHEME.match(url)
    if match is None:
        return "", url
    if not match[1]:
        raise UrlError("missing protocol scheme")
    return match[1], url[match.end() :]


def _authority(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    host = _bracketed(host) if "[" in host else _plain_host(scheme, host)
    if at:
        if not _USER_INFO.match(user):
            raise UrlError("net/url: invalid userinfo")
        _unescape(user)
    return host


def _bracketed(host: str) -> str:
    if host.rfind("[") > 0:
        raise UrlError("invalid IP-literal")
    close = host.rfind("]")
    if close < 0:
        raise UrlError("missing ']' in host")
    port = host[close + 1 :]
    _check_port(port)
    address, percent, zone = host[1:close].partition("%25")
    address = _unescape_host(address) + ("%" + _unescape(zone) if percent else "")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        raise UrlError(f"invalid host: {address_problem(address)}") from None
    if parsed.version == 4:
        raise UrlError("invalid IP-literal")
    return f"[{address}]{port}"


def _plain_host(scheme: str, host: str) -> str:
    if ":" in host:
        strict = scheme in {"http", "https"}
        _check_port(host[host.find(":") if strict else host.rfind(":") :])
    return _unescape_host(host)


def _check_port(port: str) -> None:
    if not _PORT.match(port):
        raise UrlError(f"invalid port {quote(port)} after host")


def _unescape_host(host: str) -> str:
    for index, character in enumerate(host):
        if character == "%":
            _check_escape(host, index)
            if int(host[index + 1], 16) < 8 and host[index : index + 3] != "%25":
                raise UrlError(f"invalid URL escape {quote(host[index : index + 3])}")
        elif character.isascii() and character not in _HOST_CHARACTERS:
            raise UrlError(f"invalid character {quote(character)} in host name")
    return _decode(host)


def _unescape(text: str) -> str:
    for index, character in enumerate(text):
        if character == "%":
            _check_escape(text, index)
    return _decode(text)


def _check_escape(text: str, index: int) -> None:
    if not _ESCAPE.match(text, index):
        raise UrlError(f"invalid URL escape {quote(text[index : index + 3])}")


def _decode(text: str) -> str:
    if "%" not in text:
        return text
    return unquote_to_bytes(text).decode("utf-8", "replace")
