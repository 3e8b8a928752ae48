"""Kyverno's functions that ask the world: GlobalContextEntries, services, registries.

`generator` makes objects for a GeneratingPolicy; for one of a namespace, there alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import (
    Context,
    context_class,
    context_variable,
    member,
    members,
)
from chartkit.engine.cel.library.printing import (
    doubles,
    json_object,
    json_of,
    no_conversion,
    string_map,
)
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise
from chartkit.go.x509 import holds_certificate

_GLOBAL_CONTEXT: Final = context_variable("globalContext", "globalcontext.Context")
_HTTP: Final = context_variable("http", "http.Context")
_IMAGE: Final = context_variable("image", "imagedata.Context")
_GENERATOR: Final = context_variable("generator", "generator.Context")


def _global_data(host: Host, _: Context, name: str, projection: str = "") -> Value:
    with Reraise("failed to get global reference: ", CelError, CelError):
        return host.global_context(name, projection)


GLOBAL_CONTEXT: Final = Library(
    "kyverno.globalcontext",
    members(
        {
            "globalcontext_get_string: globalcontext.Context.get(string) -> dyn": _global_data,
            "globalcontext_get_string_string: "
            "globalcontext.Context.get(string, string) -> dyn": _global_data,
        },
        hosted=True,
    ),
    variables=_GLOBAL_CONTEXT,
)


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

HTTP: Final = Library(
    "kyverno.http",
    overloads=(*_CALLS, *_CLIENT),
    variables=_HTTP,
)


@member("imagedata_get_string: imagedata.Context.getMetadata(string) -> dyn", hosted=True)
def get_metadata(host: Host, _image: Context, reference: str) -> Value:
    with Reraise("failed to get image data: ", CelError, CelError):
        return doubles(host.image_data(reference))


IMAGE_DATA: Final = Library("kyverno.imagedata", get_metadata, variables=_IMAGE)


def _apply(host: Host, namespace: str, objects: list[Value], position: int) -> bool:
    with Reraise(f"invalid arg {position}: ", CelError, CelError):
        bodies: list[dict[str, Value]] = []
        for resource in objects:
            if not isinstance(resource, dict):
                raise no_conversion(resource, "*structpb.Struct")
            bodies.append(json_object(resource))
    with Reraise("failed to generate resources: ", CelError, CelError):
        host.generate(namespace, bodies)
    return True


@member(
    "generator_apply_string_list: generator.Context.apply(string, list(map(string, any))) -> bool",
    hosted=True,
)
def apply(host: Host, _: Context, namespace: str, objects: list[Value]) -> bool:
    return _apply(host, namespace, objects, 2)


@member(
    "generator_apply_list: generator.Context.apply(list(map(string, any))) -> bool", hosted=True
)
def apply_here(host: Host, _: Context, objects: list[Value]) -> bool:
    return _apply(host, host.policy_namespace, objects, 1)


GENERATOR: Final = Library("kyverno.generator", apply, variables=_GENERATOR)

NAMESPACED_GENERATOR: Final = Library(
    "kyverno.generator",
    overloads=apply_here,
    variables=_GENERATOR,
    documented="kyverno.generator, namespaced",
)
