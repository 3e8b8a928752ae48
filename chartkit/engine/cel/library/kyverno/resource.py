"""`kyverno.resource`: objects of the cluster, asked for and sent.

A policy of a namespace has the same functions without the argument for it: they reach its own
namespace and no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import Implementation, Library, Overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable, member, members
from chartkit.engine.cel.library.printing import json_object, string_map
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import opaque
from chartkit.engine.cel.values import Struct, Value
from chartkit.errors import Reraise

_VARIABLES = context_variable("resource", "resource.Context")
GROUP_VERSION_RESOURCE: Final = named(opaque("schema.GroupVersionResource"), "GVR")

StringMap = dict[Value, Value]


def _parse_group_version(api_version: str) -> tuple[str, str]:
    if api_version in ("", "/"):
        return "", ""
    group, slash, version = api_version.rpartition("/")
    if "/" in group:
        raise CelError(f"unexpected GroupVersion string: {api_version}")
    return (group, version) if slash else ("", api_version)


def _address(resource: Struct) -> tuple[str, str]:
    """The API version and the resource's name."""
    group, version = resource.fields.get("Group"), resource.fields["Version"]
    return f"{group}/{version}" if group else str(version), str(resource.fields["Resource"])


def _get(
    host: Host, _: Context, api_version: str, resource: str, namespace: str, name: str
) -> Value:
    with Reraise("failed to get resource: ", CelError, CelError):
        _parse_group_version(api_version)
        return host.get_resource(api_version, resource, namespace, name)


def _list(
    host: Host,
    _: Context,
    api_version: str,
    resource: str,
    namespace: str,
    labels: StringMap | None = None,
) -> Value:
    selected = string_map(labels, 4) if labels else {}
    with Reraise("failed to list resource: ", CelError, CelError):
        _parse_group_version(api_version)
        return host.list_resources(api_version, resource, namespace, selected)


def _post(
    host: Host,
    _: Context,
    api_version: str,
    resource: str,
    namespace: str,
    data: StringMap,
    position: int = 4,
) -> Value:
    with Reraise(f"invalid arg {position}: ", CelError, CelError):
        body = json_object(data)
    with Reraise("failed to create resource: ", CelError, CelError):
        _parse_group_version(api_version)
        return host.post_resource(api_version, resource, namespace, body)


def _post_outside(
    host: Host, context: Context, api_version: str, resource: str, data: StringMap
) -> Value:
    return _post(host, context, api_version, resource, "", data)


def _own(code: Implementation) -> Implementation:
    """The code with the policy's namespace in the place of the argument for one."""

    def with_own_namespace(
        host: Host, context: Context, api_version: str, resource: str, *more: Value
    ) -> Value:
        return code(host, context, api_version, resource, host.policy_namespace, *more)

    return with_own_namespace


def _of_kind(code: Implementation) -> Implementation:
    """The code with a value of `toGVR` in the place of API version and resource."""

    def of_kind(host: Host, context: Context, resource: Struct, *more: Value) -> Value:
        return code(host, context, *_address(resource), *more)

    return of_kind


def _to_gvr(host: Host, _: Context, api_version: str, kind: str) -> Struct:
    with Reraise("failed to map kind to resource: ", CelError, CelError):
        group, version = _parse_group_version(api_version)
        plural = host.plural(api_version, kind)
    fields = {"Group": group, "Version": version, "Resource": plural}
    # As in Go, an empty field counts as one that was not set.
    filled = {key: text for key, text in fields.items() if text}
    return Struct(GROUP_VERSION_RESOURCE, filled, _UNSET)


_UNSET: Final = MappingProxyType({"Group": "", "Version": "", "Resource": ""})

_TO_GVR: Final = member(
    "convert_to_gvr_string_string: resource.Context.toGVR(string, string) -> GVR", hosted=True
)(_to_gvr)


def _calls(code: Mapping[str, Implementation]) -> tuple[Overload, ...]:
    """The overloads of `id: function(types)`, which all give a map."""
    signatures = {
        f"{signature.replace(': ', ': resource.Context.')} -> map(string, any)": code[signature]
        for signature in code
    }
    return (*members(signatures, hosted=True), *_TO_GVR)


LIBRARY = Library(
    "kyverno.resource",
    _calls(
        {
            "resource_get_string_string_string_string: get(string, string, string, string)": _get,
            "resource_get_gvr_string_string: get(GVR, string, string)": _of_kind(_get),
            "resource_list_string_string_string: list(string, string, string)": _list,
            "resource_list_string_string_string_map: "
            "list(string, string, string, map(string, string))": _list,
            "list_resources_gvr_string: list(GVR, string)": _of_kind(_list),
            "list_resources_gvr_string_map: list(GVR, string, map(string, string))": _of_kind(
                _list
            ),
            "resource_post_string_string_string_map: "
            "post(string, string, string, map(string, any))": _post,
            "resource_post_string_string_map: "
            "post(string, string, map(string, any))": _post_outside,
        }
    ),
    variables=_VARIABLES,
)

NAMESPACED_LIBRARY = Library(
    "kyverno.resource",
    _calls(
        {
            "resource_list_string_string: list(string, string)": _own(_list),
            "resource_list_string_string_map: list(string, string, map(string, string))": _own(
                _list
            ),
            "list_resources_gvr: list(GVR)": _of_kind(_own(_list)),
            "list_resources_gvr_map: list(GVR, map(string, string))": _of_kind(_own(_list)),
            "resource_get_string_string_string: get(string, string, string)": _own(_get),
            "resource_get_gvr_string: get(GVR, string)": _of_kind(_own(_get)),
            "resource_post_string_string_map: post(string, string, map(string, any))": _own(
                partial(_post, position=3)
            ),
        }
    ),
    variables=_VARIABLES,
    documented="kyverno.resource, namespaced",
)
