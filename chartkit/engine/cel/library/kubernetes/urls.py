"""`kubernetes.urls`: absolute URLs and paths, and their parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from operator import attrgetter
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, Overload, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import always, of_first
from chartkit.engine.cel.library.kubernetes.refusing import Refusing
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, struct
from chartkit.errors import Reraise
from chartkit.go.url import Url, UrlError, parse_request_uri, parse_url

_PARSING: Final = always(24)
URL: Final = named(struct("kubernetes.URL"))


@dataclass(frozen=True, slots=True, eq=False)
class UrlValue(Refusing):
    """A URL; two are equal where their texts are."""

    cel_type: ClassVar[Type] = URL

    url: Url

    def __str__(self) -> str:
        """The URL as Go writes it."""
        return str(self.url)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlValue) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


@overload(
    "string_to_url: url(string) -> kubernetes.URL",
    "The URL that a text is: an absolute one or an absolute path.",
    "url('https://user@example.com:80/path?q=1').getHostname()  // 'example.com'",
    "url('../path')"
    "  // error: URL parse error during conversion from string: "
    'parse "../path": invalid URI for request',
    cost=of_first,
    work=_PARSING,
)
def _url(text: str) -> UrlValue:
    with Reraise("URL parse error during conversion from string: ", UrlError, CelError):
        parse_request_uri(text)
        return UrlValue(parse_url(text))


@overload(
    "is_url_string: isURL(string) -> bool",
    "Whether a text is an absolute URL or an absolute path.",
    "isURL('https://example.com')  // true",
    "isURL('a')  // false",
    work=_PARSING,
)
def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


_PARTS: Final = (
    (
        ("scheme", "getScheme() -> string", "scheme"),
        "The scheme, in lower case; empty in a path.",
        "url('HTTPS://example.com').getScheme()  // 'https'",
    ),
    (
        ("host", "getHost() -> string", "host"),
        "Host and port, an IPv6 address in brackets; empty in a path.",
        "url('https://[::1]:80/').getHost()  // '[::1]:80'",
    ),
    (
        ("hostname", "getHostname() -> string", "host_name"),
        "The host without port and brackets.",
        "url('https://[::1]:80/').getHostname()  // '::1'",
    ),
    (
        ("port", "getPort() -> string", "port"),
        "The port; empty where none is given.",
        "url('https://example.com:8443/').getPort()  // '8443'",
    ),
    (
        ("escaped_path", "getEscapedPath() -> string", "escaped_path"),
        "The path with what must be escaped in it escaped.",
        "url('/path with spaces/').getEscapedPath()  // '/path%20with%20spaces/'",
    ),
    (
        ("query", "getQuery() -> map(string, list(string))", "parameters"),
        "The values of the query by their names, all of them decoded.",
        "url('/?k1=a&k2=b&k2=c%20d').getQuery()  // {'k1': ['a'], 'k2': ['b', 'c d']}",
    ),
)
"""The members of a URL: the end of the overload's id, the signature and the attribute of `Url`;
the description; an example."""


def _part(names: tuple[str, str, str], doc: str, example: str) -> Overload:
    end, signature, attribute = names
    declare = overload(f"url_get_{end}: kubernetes.URL.{signature}", doc, example)
    return declare(attrgetter(f"url.{attribute}"))


LIBRARY: Final = Library(
    "kubernetes.urls",
    overloads=(*declared(globals()), *starmap(_part, _PARTS)),
    doc="Absolute URLs and paths, and their parts.",
)
