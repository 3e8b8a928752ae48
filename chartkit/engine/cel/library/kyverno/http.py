"""`kyverno.http`: calls of services."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import Library, declared
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import (
    Context,
    context_class,
    context_variable,
    member,
    members,
)
from chartkit.engine.cel.library.printing import doubles, json_of, string_map
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise
from chartkit.go.x509 import holds_certificate

_VARIABLES = context_variable("http", "http.Context")
_Secured = context_class("libs.mockAwareHTTPContext")
"""Kyverno 1.19's client with its own authority; no function accepts the type."""

_StringMap = Mapping[Value, Value]
_NO_HEADERS: Final[_StringMap] = MappingProxyType({})


def _get(host: Host, client: Context, url: str, headers: _StringMap = _NO_HEADERS) -> Value:
    sent = string_map(headers, 2)
    with Reraise("request failed: ", CelError, CelError):
        return doubles(host.http("GET", url, sent, None, client.setting))


def _post(
    host: Host, client: Context, url: str, data: Value, headers: _StringMap = _NO_HEADERS
) -> Value:
    with Reraise("invalid arg 2: ", CelError, CelError):
        body = json_of(data)
    sent = string_map(headers, 3)
    with Reraise("request failed: ", CelError, CelError):
        return doubles(host.http("POST", url, sent, body, client.setting))


def _client(_http: Context, ca_bundle: str) -> Context:
    if ca_bundle and not holds_certificate(ca_bundle):
        raise CelError("request failed: failed to parse PEM CA bundle for APICall")
    return _Secured(ca_bundle)


_CALLS: Final = members(
    {
        "http_get_string: http.Context.get(string) -> any": _get,
        "http_get_string_headers: http.Context.get(string, map(string, string)) -> any": _get,
        "http_post_string_any: http.Context.post(string, any) -> any": _post,
        "http_post_string_any_headers: "
        "http.Context.post(string, any, map(string, string)) -> any": _post,
    },
    hosted=True,
)
_CLIENT: Final = member("http_client_string: http.Context.client(string) -> http.Context")(_client)

LIBRARY = Library("kyverno.http", overloads=declared(globals()), variables=_VARIABLES)
