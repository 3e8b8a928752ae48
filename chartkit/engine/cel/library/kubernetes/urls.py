"""`kubernetes.urls`: absolute URLs and paths, and their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Example, Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import always, of_first
from chartkit.engine.cel.library.kubernetes.refusing import Refusing
from chartkit.engine.cel.types import BOOL, LIST_STRING, STRING, Type, map_of, struct
from chartkit.go.url import Url, UrlError, parse_request_uri, parse_url

_PARSING: Final = always(24)
URL: Final = struct("kubernetes.URL")


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
    "url",
    "string_to_url",
    STRING,
    returns=URL,
    cost=of_first,
    work=_PARSING,
    doc="The URL that a text is: an absolute one or an absolute path.",
    examples=(
        Example("url('https://user@example.com:80/path?q=1').getHostname()", "'example.com'"),
        Example(
            "url('../path')",
            'URL parse error during conversion from string: parse "../path": invalid URI for '
            "request",
            error=True,
        ),
    ),
)
def _url(text: str) -> UrlValue:
    try:
        parse_request_uri(text)
        return UrlValue(parse_url(text))
    except UrlError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


@overload(
    "isURL",
    "is_url_string",
    STRING,
    returns=BOOL,
    work=_PARSING,
    doc="Whether a text is an absolute URL or an absolute path.",
    examples=(Example("isURL('https://example.com')", "true"), Example("isURL('a')", "false")),
)
def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


@overload(
    "getScheme",
    "url_get_scheme",
    URL,
    returns=STRING,
    member=True,
    doc="The scheme, in lower case; empty in a path.",
    examples=(Example("url('HTTPS://example.com').getScheme()", "'https'"),),
)
def _get_scheme(value: UrlValue) -> str:
    return value.url.scheme


@overload(
    "getHost",
    "url_get_host",
    URL,
    returns=STRING,
    member=True,
    doc="Host and port, an IPv6 address in brackets; empty in a path.",
    examples=(Example("url('https://[::1]:80/').getHost()", "'[::1]:80'"),),
)
def _get_host(value: UrlValue) -> str:
    return value.url.host


@overload(
    "getHostname",
    "url_get_hostname",
    URL,
    returns=STRING,
    member=True,
    doc="The host without port and brackets.",
    examples=(Example("url('https://[::1]:80/').getHostname()", "'::1'"),),
)
def _get_hostname(value: UrlValue) -> str:
    return value.url.host_name


@overload(
    "getPort",
    "url_get_port",
    URL,
    returns=STRING,
    member=True,
    doc="The port; empty where none is given.",
    examples=(Example("url('https://example.com:8443/').getPort()", "'8443'"),),
)
def _get_port(value: UrlValue) -> str:
    return value.url.port


@overload(
    "getEscapedPath",
    "url_get_escaped_path",
    URL,
    returns=STRING,
    member=True,
    doc="The path with what must be escaped in it escaped.",
    examples=(Example("url('/path with spaces/').getEscapedPath()", "'/path%20with%20spaces/'"),),
)
def _get_escaped_path(value: UrlValue) -> str:
    return value.url.escaped_path


@overload(
    "getQuery",
    "url_get_query",
    URL,
    returns=map_of(STRING, LIST_STRING),
    member=True,
    doc="The values of the query by their names, all of them decoded.",
    examples=(
        Example("url('/?k1=a&k2=b&k2=c%20d').getQuery()", "{'k1': ['a'], 'k2': ['b', 'c d']}"),
    ),
)
def _get_query(value: UrlValue) -> dict[str, list[str]]:
    return value.url.parameters


LIBRARY: Final = Library(
    "kubernetes.urls",
    overloads=declared(globals()),
    doc="Absolute URLs and paths, and their parts.",
)
