"""`kyverno.http`: calls of services."""

from __future__ import annotations

from chartkit.engine.cel.declarations import Library, declared
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import (
    Context,
    context_class,
    context_variable,
    member,
)
from chartkit.engine.cel.library.printing import doubles, json_of, string_map
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise
from chartkit.go.x509 import holds_certificate

_VARIABLES = context_variable("http", "http.Context")
_Secured = context_class("libs.mockAwareHTTPContext")
"""Kyverno 1.19's client with its own authority; no function accepts the type."""

_StringMap = dict[Value, Value]


def _get(host: Host, client: Context, url: str, headers: _StringMap) -> Value:
    sent = string_map(headers, 2)
    with Reraise("request failed: ", CelError, CelError):
        return doubles(host.http("GET", url, sent, None, client.setting))


def _post(host: Host, client: Context, url: str, data: Value, headers: _StringMap) -> Value:
    with Reraise("invalid arg 2: ", CelError, CelError):
        body = json_of(data)
    sent = string_map(headers, 3)
    with Reraise("request failed: ", CelError, CelError):
        return doubles(host.http("POST", url, sent, body, client.setting))


@member("http_get_string: http.Context.get(string) -> any", hosted=True)
def get(host: Host, client: Context, url: str) -> Value:
    return _get(host, client, url, {})


get_with_headers = member(
    "http_get_string_headers: http.Context.get(string, map(string, string)) -> any", hosted=True
)(_get)


@member("http_post_string_any: http.Context.post(string, any) -> any", hosted=True)
def post(host: Host, client: Context, url: str, data: Value) -> Value:
    return _post(host, client, url, data, {})


post_with_headers = member(
    "http_post_string_any_headers: http.Context.post(string, any, map(string, string)) -> any",
    hosted=True,
)(_post)


@member("http_client_string: http.Context.client(string) -> http.Context")
def client(_http: Context, ca_bundle: str) -> Context:
    if ca_bundle and not holds_certificate(ca_bundle):
        raise CelError("request failed: failed to parse PEM CA bundle for APICall")
    return _Secured(ca_bundle)


LIBRARY = Library("kyverno.http", overloads=declared(globals()), variables=_VARIABLES)
