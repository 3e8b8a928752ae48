"""`kubernetes.urls`: absolute URLs and paths, and their parts."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, declared, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import always, of_first
from chartkit.engine.cel.library.kubernetes.refusing import Refusing
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, struct
from chartkit.errors import Reraise
from chartkit.go.url import Url, UrlError, parse_request_uri, parse_url

_PARSING: Final = always(24)
URL: Final = named(struct("kubernetes.URL"), "URL")


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


@overload("string_to_url: url(string) -> URL", cost=of_first, work=_PARSING)
def _url(text: str) -> UrlValue:
    with Reraise("URL parse error during conversion from string: ", UrlError, CelError):
        parse_request_uri(text)
        return UrlValue(parse_url(text))


@overload("is_url_string: isURL(string) -> bool", work=_PARSING)
def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


_PARTS: Final = overloads(
    {
        "url_get_scheme: URL.getScheme() -> string": attrgetter("url.scheme"),
        "url_get_host: URL.getHost() -> string": attrgetter("url.host"),
        "url_get_hostname: URL.getHostname() -> string": attrgetter("url.host_name"),
        "url_get_port: URL.getPort() -> string": attrgetter("url.port"),
        "url_get_escaped_path: URL.getEscapedPath() -> string": attrgetter("url.escaped_path"),
        "url_get_query: URL.getQuery() -> map(string, list(string))": attrgetter("url.parameters"),
    }
)

LIBRARY: Final = Library("kubernetes.urls", overloads=declared(globals()))
