"""`kyverno.resource` in a policy of a namespace: its functions reach that namespace alone."""

from __future__ import annotations

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno import resource as resources
from chartkit.engine.cel.library.kyverno.contexts import Context
from chartkit.engine.cel.library.kyverno.resource import (
    StringMap,
    address,
    get_object,
    list_objects,
    post_object,
)
from chartkit.engine.cel.library.kyverno.spellings import member
from chartkit.engine.cel.values import Struct, Value


@member(
    "resource_get_string_string_string: "
    "resource.Context.get(string, string, string) -> map(string, any)",
    "An object of the policy's namespace by API version, resource and name; null where there "
    "is none.",
    "resource.get('v1', 'configmaps', 'limits').data.cpu  // '2'",
    hosted=True,
)
def get(host: Host, _: Context, api_version: str, resource: str, name: str) -> Value:
    return get_object(host, api_version, resource, host.policy_namespace, name)


@member(
    "resource_get_gvr_string: "
    "resource.Context.get(schema.GroupVersionResource, string) -> map(string, any)",
    "An object of a resource that `toGVR` gave, by name.",
    "resource.get(resource.toGVR('v1', 'ConfigMap'), 'limits').data.cpu  // '2'",
    hosted=True,
)
def get_of_kind(host: Host, _: Context, resource: Struct, name: str) -> Value:
    return get_object(host, *address(resource), host.policy_namespace, name)


@member(
    "resource_list_string_string: resource.Context.list(string, string) -> map(string, any)",
    "A list object with the `items` of a resource in the policy's namespace.",
    "dyn(resource.list('v1', 'configmaps').items).size()  // 1",
    hosted=True,
)
def list_all(host: Host, _: Context, api_version: str, resource: str) -> Value:
    return list_objects(host, api_version, resource, host.policy_namespace)


@member(
    "resource_list_string_string_map: "
    "resource.Context.list(string, string, map(string, string)) -> map(string, any)",
    "The same, of the objects that have some labels.",
    "dyn(resource.list('v1', 'configmaps', {'a': 'z'}).items).size()  // 0",
    hosted=True,
)
def list_labelled(
    host: Host, _: Context, api_version: str, resource: str, labels: StringMap
) -> Value:
    return list_objects(host, api_version, resource, host.policy_namespace, labels)


@member(
    "list_resources_gvr: resource.Context.list(schema.GroupVersionResource) -> map(string, any)",
    "The list of a resource that `toGVR` gave.",
    "dyn(resource.list(resource.toGVR('v1', 'ConfigMap')).items).size()  // 1",
    hosted=True,
)
def list_of_kind(host: Host, _: Context, resource: Struct) -> Value:
    return list_objects(host, *address(resource), host.policy_namespace)


@member(
    "list_resources_gvr_map: "
    "resource.Context.list(schema.GroupVersionResource, map(string, string)) -> map(string, any)",
    "The list of a resource that `toGVR` gave, of the objects that have some labels.",
    "dyn(resource.list(resource.toGVR('v1', 'ConfigMap'), {'a': 'b'}).items).size()  // 1",
    hosted=True,
)
def list_labelled_of_kind(host: Host, _: Context, resource: Struct, labels: StringMap) -> Value:
    return list_objects(host, *address(resource), host.policy_namespace, labels)


@member(
    "resource_post_string_string_map: "
    "resource.Context.post(string, string, map(string, any)) -> map(string, any)",
    "What the API answers to an object that is sent to the policy's namespace.",
    "resource.post('v1', 'configmaps', {'metadata': {'name': 'x'}}).metadata.namespace  // 'team'",
    hosted=True,
)
def post(host: Host, _: Context, api_version: str, resource: str, data: StringMap) -> Value:
    return post_object(host, api_version, resource, host.policy_namespace, data, 3)


LIBRARY = Library(
    "kyverno.resource",
    overloads=(
        *(*list_all, *list_labelled, *list_of_kind, *list_labelled_of_kind),
        *(*get, *get_of_kind),
        *post,
        *resources.to_gvr,
    ),
    variables=resources.LIBRARY.variables,
    doc="Objects of the cluster that are in the policy's namespace.",
)
