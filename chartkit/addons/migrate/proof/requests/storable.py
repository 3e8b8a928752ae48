"""Objects that an API server stores: the reasons for which it refuses one.

Decoding refuses fields of another type and drops those that a kind has not; validation refuses
missing fields, empty lists of containers, invalid names and values outside a field's set. No policy
ever sees such an object, so no difference about it counts. Kinds that are not Kubernetes' own have
the rules of metadata alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from chartkit.addons.migrate.proof.leaves.paths import CLUSTER, IMAGE
from chartkit.addons.migrate.proof.requests import schema
from chartkit.addons.migrate.proof.requests.contents import Contents
from chartkit.engine.kubernetes.kinds import is_cluster_scoped, kind_of
from chartkit.engine.scalars.cron import Schedule
from chartkit.go.quantity import Quantity, QuantityError
from chartkit.model import Body, Json, Resource, mapping_at, mappings_at, with_value
from chartkit.scan.api_defaults import as_stored
from chartkit.scan.api_defaults.admission import decisive_metadata

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "int": (int,),
    "double": (int, float),
    "bool": (bool,),
    "quantity": (str, int, float),
    "int-or-string": (str, int),
}
_LABEL: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
KEY: Final = re.compile(
    r"([a-z0-9][-a-z0-9.]{0,252}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.:]{0,251}[a-z0-9])?")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DATA_KEY: Final = re.compile(r"[-A-Za-z0-9_.]{1,253}")
_WITH_DATA: Final = ("core.v1.ConfigMap", "core.v1.Secret")
IDENTITY: Final = ("name", "namespace", "generateName")
"""The fields of metadata that name an object."""
_METADATA: Final = "meta.v1.ObjectMeta"
_TIMES: Final = ("creationTimestamp", "deletionTimestamp")
_LISTED: Final[dict[str, frozenset[str]]] = {
    "core.v1.PodSpec": frozenset(("containers",)),
    "core.v1.ServiceSpec": frozenset(("ports",)),
    "rbac.v1.PolicyRule": frozenset(("verbs",)),
}
"""Lists that must have an element, by type."""


def refusal(document: Body, contents: Contents) -> str:
    """Return why an API server does not send a case, or store its objects: the first reason; empty
    where it does. contents: those of objects that are not changed any more."""
    if "userInfo" not in document and document.get("operation") != "CREATE":
        return "background scans of changes"
    if "userInfo" in document and not mapping_at(document, "userInfo").get("username"):
        return "users without a name"
    body, old = document["object"], document.get("oldObject")
    if reason := _first_refusal(body, contents) or (old and _first_refusal(old, contents)):
        return reason
    if old and _identity(old) != _identity(body):
        return "updates that give an object another name"
    if IMAGE in document and (
        reasons := _of_type(document[IMAGE], schema.IMAGE_TYPE, "", contents)
    ):
        return reasons[0]
    for listed in (document.get(CLUSTER) or {}).values():
        for item in listed if isinstance(listed, list) else ():
            is_object = isinstance(item, dict)
            if reason := _first_refusal(item, contents) if is_object else "lists of no objects":
                return reason
    return ""


def _first_refusal(body: Body, contents: Contents) -> str:
    key = contents.of(body)
    if key not in contents.refusals:
        contents.refusals[key] = next(refusals(body, contents), "")
    return contents.refusals[key]


def _identity(body: Body) -> list[Json]:
    metadata = mapping_at(body, "metadata")
    return [body.get("kind"), *(metadata.get(key) for key in IDENTITY)]


def with_defaults(body: Body, contents: Contents) -> Body:
    """Return an object with an API server's defaults; the same one where it has them."""
    key = contents.of(body)
    if key not in contents.stored:
        defaulted = _defaulted(body, contents)
        contents.stored[key] = None if defaulted == body else defaulted
    return contents.stored[key] or body


def _defaulted(body: Body, contents: Contents) -> Body:
    """Fill in an object, and each specification of Pods and what is around it once."""
    kind = kind_of(Resource(body))
    above = () if kind == schema.POD else schema.TEMPLATED.get(kind)
    spec = None if above is None else mapping_at(body, *above).get("spec")
    stored: Body
    if above is None or not isinstance(spec, dict) or not spec:
        stored = _shared(as_stored(Resource(body)).body, body)
        return stored
    metadata = () if above else tuple(map(contents.of, decisive_metadata(body)))
    key = contents.of(spec), kind == schema.POD, metadata
    if (known := contents.specs.get(key)) is None:
        stored = _shared(as_stored(Resource(body)).body, body)
        contents.specs[key] = mapping_at(stored, *above)["spec"]
    else:
        around = with_defaults(with_value(body, (*above, "spec"), {}), contents)
        stored = with_value(around, (*above, "spec"), known)
    return stored


def _shared(made: Json, given: Json) -> Json:
    """Return a new value in which the equal parts of a given one, whose contents are known, take
    the place of its own."""
    if made == given:
        return given
    if isinstance(made, dict) and isinstance(given, dict):
        for key in made.keys() & given.keys():
            made[key] = _shared(made[key], given[key])
    elif isinstance(made, list) and isinstance(given, list):
        made[: len(given)] = map(_shared, made, given)
    return made


def refusals(body: Body, contents: Contents | None = None) -> Iterator[str]:
    """Yield the reasons for which an API server does not store an object, by their class."""
    contents = Contents() if contents is None else contents
    kind, metadata = kind_of(Resource(body)), body.get("metadata")
    namespaced = not is_cluster_scoped(kind)
    key = contents.of(metadata), _METADATA, str(namespaced)
    if key not in contents.reasons:
        contents.reasons[key] = tuple(_metadata(metadata, namespaced))
    yield from contents.reasons[key]
    for path in (("spec", "template"), ("spec", "jobTemplate", "spec", "template")):
        yield from _texts(mapping_at(body, *path, "metadata").get("labels"), labels=True)
    root = schema.root_type(kind)
    if root != schema.ANY:
        yield from _of_type(body, root, "", contents)
    elif isinstance(metadata, dict):
        typed = {key: value for key, value in metadata.items() if key not in _TIMES}
        yield from _of_type(typed, _METADATA, "", contents)
    if kind in schema.TEMPLATED:
        spec = mapping_at(body, "spec")
        template = mapping_at(body, *schema.TEMPLATED[kind])
        if kind.group == "apps":
            selector = mapping_at(spec, "selector")
            labels = mapping_at(template, "metadata", "labels")
            wanted = mapping_at(selector, "matchLabels")
            if not wanted and not selector.get("matchExpressions"):
                yield "controllers without a selector"
            elif any(labels.get(key) != text for key, text in wanted.items()):
                yield "controllers whose selector does not take their Pods"
        elif kind.group == "batch":
            if mapping_at(template, "spec").get("restartPolicy") not in ("Never", "OnFailure"):
                yield "jobs whose Pods are always restarted"
            if "schedule" in spec and not _is_schedule(spec["schedule"]):
                yield "invalid schedules"


def _is_schedule(text: Json) -> bool:
    try:
        Schedule.parse(str(text))
    except ValueError:
        return False
    return True


def _metadata(metadata: Json, namespaced: bool) -> Iterator[str]:
    if not isinstance(metadata, dict):
        yield "objects without metadata"
        return
    # An API server gives a name to what has a prefix alone; it sends no empty one.
    name = metadata.get("name", metadata.get("generateName"))
    if not isinstance(name, str) or not _NAME.fullmatch(name.removesuffix("-")):
        yield "invalid names"
    namespace = metadata.get("namespace")
    if namespaced != bool(namespace) or (
        namespace and not (isinstance(namespace, str) and _NAMESPACE.fullmatch(namespace))
    ):
        yield "invalid namespaces"
    if any(not isinstance(metadata.get(key), str | None) for key in _TIMES):
        yield "times of another type"
    yield from _texts(metadata.get("labels"), labels=True)
    yield from _texts(metadata.get("annotations"), labels=False)


def _texts(value: Json, *, labels: bool) -> Iterator[str]:
    what = "labels" if labels else "annotations"
    if value is None:
        return
    if not isinstance(value, dict):
        yield f"{what} of another type"
        return
    for key, text in value.items():
        if not isinstance(text, str):
            yield f"{what} of another type"
        elif not KEY.fullmatch(key) or (labels and not _LABEL.fullmatch(text)):
            yield f"invalid {what}"


def _of_type(value: Json, kind: str, field: str, contents: Contents) -> Sequence[str]:
    """Return the reasons for which a value is not of a type; of what a request leaves as it was in
    others they are known."""
    if kind == schema.ANY:
        return ()
    if value is None:
        return ("null, which decoding drops",)
    if kind in _TYPES:
        reason = _of_scalar(value, kind, field)
        return (reason,) if reason else ()
    wanted: type[Any] = list if kind.startswith(schema.LIST) else dict
    if not isinstance(value, wanted):
        return ("fields of another type",)
    key = contents.of(value), kind, field
    reasons = contents.reasons.get(key)
    if reasons is None:
        faults = _fields(value, kind, contents)
        if kind.startswith((schema.LIST, schema.MAP)):
            faults = _members(value, kind, field, contents)
        reasons = contents.reasons[key] = tuple(faults)
    return reasons


def _of_scalar(value: Json, kind: str, field: str) -> str:
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        return "fields of another type"
    if isinstance(value, int) and kind == "int" and value < 0 and field not in _SIGNED:
        return "negative numbers"
    if field in _AMOUNTS and isinstance(value, str) and not _PERCENT.fullmatch(value):
        return "amounts that are not percentages"
    if kind == "quantity" and not _is_quantity(str(value)):
        return "invalid quantities"
    return ""


def _members(
    value: Body | Sequence[Json], kind: str, field: str, contents: Contents
) -> Iterator[str]:
    names = set()
    members: Iterable[Json] = value.values() if isinstance(value, dict) else value
    for member in members:
        yield from _of_type(member, kind[2:], field, contents)
        name = member.get(_KEYS.get(field, "")) if isinstance(member, dict) else None
        if isinstance(name, str):
            if _KEYS.get(field) == "name" and not _NAMESPACE.fullmatch(name):
                yield "invalid names"
            if name in names:
                yield "two elements of one name"
            names.add(name)


_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ownerReferences": "uid",
}
"""The fields by which the elements of lists differ."""
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_NOTHING: Final = Quantity.parse("0")
_SIGNED: Final = frozenset(("priority", "value", "weight"))


_AMOUNTS: Final = frozenset(("maxUnavailable", "minAvailable", "maxSurge"))
_PERCENT: Final = re.compile(r"\d+%", re.ASCII)


def _is_quantity(text: str) -> bool:
    try:
        return Quantity.parse(text).compare(_NOTHING) >= 0
    except QuantityError:
        return False


@cache
def _declared(kind: str) -> Mapping[str, tuple[str, Sequence[str], bool]]:
    """Return by name the type of each field of a type, the only values that it may have, and
    whether it takes every other text."""
    return {
        name: (
            field.type,
            schema.allowed_values(kind, name),
            field.type == "string" and name not in _AMOUNTS,
        )
        for name, field in schema.fields(kind).items()
    }


def _fields(body: Body, kind: str, contents: Contents) -> Iterator[str]:
    declared, listed = _declared(kind), _LISTED.get(kind, ())
    for name, value in body.items():
        field = declared.get(name)
        if field is None:
            yield "fields that the kind does not have"
            continue
        type_name, allowed, is_text = field
        if not is_text or value.__class__ is not str:
            yield from _of_type(value, type_name, name, contents)
        if not value and name in listed:
            yield "missing required fields"
        if allowed and isinstance(value, str) and value not in allowed:
            yield "values outside a field's set"
    data = mapping_at(body, "data") if kind in _WITH_DATA else {}
    if not all(map(_DATA_KEY.fullmatch, data)):
        yield "invalid keys of data"
    if not all(isinstance(item, str) for item in data.values()):
        yield "fields of another type"
    if kind == "core.v1.PodSpec":
        # No two containers of several lists have one name.
        lists = [mappings_at(body, key) for key in _CONTAINERS]
        names = [name for listed in lists for name in {str(item.get("name")) for item in listed}]
        if len(set(names)) < len(names):
            yield "two elements of one name"
    if kind == "core.v1.Binding" and not mapping_at(body, "target").get("name"):
        yield "missing required fields"
    if (others := schema.alternatives(kind)) and len(body.keys() & others) > 1:
        yield "several fields of which one excludes the others"
    for name, type_name in schema.required(kind):
        if name not in body or (body[name] == "" and type_name == "string"):
            yield "missing required fields"
