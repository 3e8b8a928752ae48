"""URLs as Go's `net/url` takes them apart and writes them again, and IP addresses as
`netip.ParseAddr` reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from chartkit.go import GoError
from chartkit.go.strconv import quote

_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_PATH: Final = _PLAIN | frozenset("$&+,/:;=@")
_FRAGMENT: Final = _PATH | frozenset("?!()*")
_USER: Final = _PLAIN | frozenset("$&+,;=")
_HOST: Final = _PLAIN | frozenset("!\"$&'()*+,:;<=>[]")
"""The characters of each part that are not escaped."""

_VALID: Final = frozenset("!$&'()*+,;=:@[]%")
"""The further characters of a part that stay as they are."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)?:")
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_PORT = re.compile(r"(?::[0-9]*)?\Z")
_USER_INFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BROKEN = re.compile("[\ud800-\udfff]")
_MAX_PARAMETERS: Final = 10_000
_GROUP = re.compile(r"[0-9a-fA-F]*")
_GROUPS = 8
_OCTETS = 4
_SHORT = "IPv4 address too short"
_NOTHING_TO_EXPAND = "the :: must expand to at least one field of zeros"


class UrlError(GoError):
    """Text that is not a URL, with the message of `url.Parse` or `url.ParseRequestURI`."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL; each character of them is a byte.

    user: name and password, decoded; path and fragment are decoded, beside what was written.
    """

    scheme: str = ""
    opaque: str = ""
    user: tuple[str, str | None] | None = None
    authority: str = ""
    path: str = ""
    written_path: str = ""
    query: str = ""
    has_query: bool = False
    fragment: str = ""
    written_fragment: str = ""
    has_authority: bool = False

    def __str__(self) -> str:
        """The URL as Go writes it."""
        parts = [self.scheme + ":" if self.scheme else ""]
        if self.opaque:
            parts.append(self.opaque)
        else:
            if self.has_authority or self.authority or self.user:
                parts.append("//" if self.authority or self.path or self.user else "")
                if self.user is not None:
                    name, password = self.user
                    parts.append(_escape(name, _USER))
                    parts.append("@" if password is None else f":{_escape(password, _USER)}@")
                parts.append(_escape(self.authority, _HOST))
            path = _written(self.path, self.written_path, _PATH)
            if self.authority and path and path[0] != "/":
                parts.append("/")
            if not "".join(parts) and ":" in path.partition("/")[0]:
                parts.append("./")
            parts.append(path)
        if self.has_query or self.query:
            parts.append("?" + self.query)
        if self.fragment:
            parts.append("#" + _written(self.fragment, self.written_fragment, _FRAGMENT))
        return _text("".join(parts))

    @property
    def host(self) -> str:
        """Host and port, an IPv6 address in brackets."""
        return _text(self.authority)

    @property
    def host_name(self) -> str:
        """The host without brackets and port; may be empty."""
        return _text(self._split_host()[0])

    @property
    def port(self) -> str:
        """The port; empty where none is given."""
        return self._split_host()[1]

    def _split_host(self) -> tuple[str, str]:
        host, port = self.authority, ""
        colon = host.rfind(":")
        if colon >= 0 and _PORT.match(host[colon:]):
            host, port = host[:colon], host[colon + 1 :]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host, port

    @property
    def escaped_path(self) -> str:
        """The path, escaped as it was written where that is right."""
        return _text(_written(self.path, self.written_path, _PATH))

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The query's values by name; a pair that cannot be decoded is left out."""
        values: dict[str, list[str]] = {}
        pairs = self.query.split("&")
        if len(pairs) > _MAX_PARAMETERS:
            return values
        for pair in pairs:
            if not pair or ";" in pair:
                continue
            name, _, value = pair.replace("+", " ").partition("=")
            try:
                key, text = _text(_unescape(name)), _text(_unescape(value))
            except UrlError:
                continue
            values.setdefault(key, []).append(text)
        return values


def parse_url(text: str) -> Url:
    """Go's `url.Parse`; raises `UrlError`."""
    url, _, fragment = _bytes(text).partition("#")
    try:
        return _parse(url, fragment, strict=False)
    except UrlError as error:
        raise UrlError(f"parse {quote(_text(url))}: {error}") from None
    except _FragmentError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None


def parse_request_uri(text: str) -> Url:
    """Go's `url.ParseRequestURI`: an absolute URL or path, without a fragment.

    Raises `UrlError`.
    """
    try:
        return _parse(_bytes(text), "", strict=True)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None


class _FragmentError(ValueError):
    """A fragment that cannot be decoded: the message names the whole URL."""


def unescape_path(text: str) -> str:
    """Return a path decoded (`url.PathUnescape`); raise `UrlError`."""
    return _text(_unescape(_bytes(text)))


def _parse(url: str, fragment: str, *, strict: bool) -> Url:
    if _CONTROL.search(url):
        raise UrlError("net/url: invalid control character in URL")
    if not url and strict:
        raise UrlError("empty url")
    if url == "*":
        return _complete(Url(path="*", written_path="*"), fragment)
    match = _SCHEME.match(url)
    scheme, rest = "", url
    if match is not None:
        if not match[1]:
            raise UrlError("missing protocol scheme")
        scheme, rest = match[1].lower(), url[match.end() :]
    has_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            opaque = Url(scheme=scheme, opaque=rest, query=query, has_query=has_query)
            return _complete(opaque, fragment)
        if strict:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    user, authority = None, ""
    has_authority = bool(scheme)
    if rest.startswith("//") and (scheme or (not strict and not rest.startswith("///"))):
        whole, slash, path = rest[2:].partition("/")
        authority_user, at, host = whole.rpartition("@")
        host = _bracketed(host) if "[" in host else _plain_host(scheme, host)
        if not at:
            user, authority = None, host
        else:
            if not _USER_INFO.match(authority_user):
                raise UrlError("net/url: invalid userinfo")
            name, colon, password = authority_user.partition(":")
            user, authority = (_unescape(name), _unescape(password) if colon else None), host
        rest = slash + path
    elif scheme:
        has_authority = False
    parsed = Url(
        scheme=scheme,
        user=user,
        authority=authority,
        path=_unescape(rest),
        written_path=rest,
        query=query,
        has_query=has_query,
        has_authority=has_authority,
    )
    return _complete(parsed, fragment)


def _complete(url: Url, fragment: str) -> Url:
    if not fragment:
        return url
    try:
        decoded = _unescape(fragment)
    except UrlError as error:
        raise _FragmentError(str(error)) from None
    return replace(url, fragment=decoded, written_fragment=fragment)


def _bracketed(host: str) -> str:
    if host.rfind("[") > 0:
        raise UrlError("invalid IP-literal")
    close = host.rfind("]")
    if close < 0:
        raise UrlError("missing ']' in host")
    port = host[close + 1 :]
    _check_port(port)
    address, percent, zone = host[1:close].partition("%25")
    address = _unescape_host(address) + ("%" + _unescape_zone(zone) if percent else "")
    try:
        parsed, _ = parse_address(_text(address))
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
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
        raise UrlError(f"invalid port {quote(_text(port))} after host")


def _unescape_host(host: str) -> str:
    """The host decoded; only what is not ASCII character may be escaped, and the percent sign."""
    for index, character in enumerate(host):
        if character == "%":
            _check_escape(host, index)
            if int(host[index + 1], 16) < 8 and host[index : index + 3] != "%25":
                raise UrlError(f"invalid URL escape {quote(host[index : index + 3])}")
        else:
            _check_host(character)
    return _decode(host)


def _unescape_zone(zone: str) -> str:
    """The zone decoded; what stands in a host as it is may be escaped, and a space."""
    for index, character in enumerate(zone):
        if character == "%":
            _check_escape(zone, index)
            escape = zone[index : index + 3]
            decoded = chr(int(escape[1:], 16))
            if escape != "%25" and decoded != " " and decoded not in _HOST:
                raise UrlError(f"invalid URL escape {quote(escape)}")
        else:
            _check_host(character)
    return _decode(zone)


def _check_host(character: str) -> None:
    if character.isascii() and character not in _HOST:
        raise UrlError(f"invalid character {quote(character)} in host name")


def _unescape(text: str) -> str:
    start = text.find("%")
    while start >= 0:
        _check_escape(text, start)
        start = text.find("%", start + 3)
    return _decode(text)


def _check_escape(text: str, index: int) -> None:
    if not _ESCAPE.match(text, index):
        raise UrlError(f"invalid URL escape {quote(_text(text[index : index + 3]))}")


def _decode(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "%" in text else text


def _escape(text: str, unescaped: frozenset[str]) -> str:
    return "".join(c if c in unescaped else f"%{ord(c):02X}" for c in text)


def _written(decoded: str, written: str, unescaped: frozenset[str]) -> str:
    """A part as it was written where that is valid, else written anew."""
    if (unescaped | _VALID).issuperset(written):
        return written
    return _escape(decoded, unescaped)


def _bytes(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("latin-1")


def _text(characters: str) -> str:
    """The text of a part; a byte that is not UTF-8 becomes U+FFFD."""
    if characters.isascii():
        return characters
    decoded = characters.encode("latin-1").decode("utf-8", "surrogateescape")
    return _BROKEN.sub("\ufffd", decoded)


class AddressError(GoError):
    """Text that is not an IP address, with the message of `netip.ParseAddr`."""


def parse_address(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    """The address of a text and its zone, which is mostly empty; raises `AddressError`."""
    address, percent, zone = text.partition("%")
    try:
        parsed = ip_address(address)
    except ValueError:
        raise AddressError(address_problem(text)) from None
    if percent and (parsed.version == 4 or not zone):
        raise AddressError(address_problem(text))
    return parsed, zone


def address_problem(text: str) -> str:
    """The message for a text that `ipaddress` refuses."""
    kind = next((character for character in text if character in ".:%"), "")
    if kind == ".":
        message, at = _ipv4_problem(text)
    elif kind == ":":
        message, at = _ipv6_problem(text)
    else:
        message, at = ("missing IPv6 address" if kind else "unable to parse IP"), ""
    position = f" (at {quote(at)})" if at else ""
    return f"ParseAddr({quote(text)}): {message}{position}"


def _ipv4_problem(text: str) -> tuple[str, str]:
    position = 0
    octet = ""
    for index, character in enumerate(text):
        if character == ".":
            if not octet or index == len(text) - 1:
                return "IPv4 field must have at least one digit", text[index:]
            if position == _OCTETS - 1:
                return "IPv4 address too long", ""
            position, octet = position + 1, ""
        elif not ("0" <= character <= "9"):
            return "unexpected character", text[index:]
        elif octet == "0":
            return "IPv4 field has octet with leading zero", ""
        else:
            octet += character
            if int(octet) > 255:
                return "IPv4 field has value >255", ""
    return _SHORT, ""


def _ipv6_problem(text: str) -> tuple[str, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string", ""
    shortened = rest.startswith("::")
    rest = rest[2:] if shortened else rest
    groups = 0
    while groups < _GROUPS:
        group = _GROUP.match(rest)
        digits = group[0] if group else ""
        if len(digits) > 4:
            return "each group must have 4 or less digits", rest
        if not digits:
            return "each colon-separated field must have at least one digit", rest
        after = rest[len(digits) :]
        if after.startswith("."):
            return _embedded_problem(rest, groups, shortened)
        groups, rest = groups + 1, after
        if not rest:
            break
        if not rest.startswith(":"):
            return "unexpected character, want colon", rest
        if len(rest) == 1:
            return "colon must be followed by more characters", rest
        rest = rest[1:]
        if rest.startswith(":"):
            if shortened:
                return "multiple :: in address", rest
            shortened, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        return "trailing garbage after address", rest
    if groups < _GROUPS:
        return "address string too short", ""
    return _NOTHING_TO_EXPAND, ""


def _embedded_problem(rest: str, groups: int, shortened: bool) -> tuple[str, str]:
    if not shortened and groups != _GROUPS - 2:
        return "embedded IPv4 address must replace the final 2 fields of the address", rest
    if groups > _GROUPS - 2:
        return "too many hex fields to fit an embedded IPv4 at the end of the address", rest
    message, at = _ipv4_problem(rest)
    is_short = message == _SHORT and rest.count(".") == _OCTETS - 1
    return (_NOTHING_TO_EXPAND, "") if is_short else (message, at)
