"""CustomResourceDefinitions: the kinds that they define, by group, version and kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from chartkit.engine.kubernetes.kinds import CRD_GROUP, CustomNames, GroupVersionKind
from chartkit.model import (
    Diagnostic,
    FieldPath,
    Json,
    Location,
    Resource,
    Severity,
    mapping_at,
    pointer_of,
)
from chartkit.scan.custom_resources.rules import compile_rule, rules_of
from chartkit.scan.custom_resources.schema import (
    Schema,
    SchemaError,
    complete_defaults,
    read_schema,
)
from chartkit.scan.inputs import is_definition

RULE: Final = "crd"
KIND: Final = "CustomResourceDefinition"
_NAMES: Final = {"rule": "rule", "messageExpression": "message expression"}
_SERVED: Final = f"{CRD_GROUP}/v1"


@dataclass(frozen=True, slots=True)
class CustomKind:
    """A version of a custom kind. definition: the name of its definition; schema: None where there
    is none that can be used; drops_status: whether the status of a new object is left out, for it
    is a subresource."""

    definition: str
    kind: GroupVersionKind
    plural: str
    namespaced: bool
    schema: Schema | None
    drops_status: bool
    location: Location


@dataclass(frozen=True, slots=True)
class Definitions:
    """Custom kinds; faults: why some of their definitions cannot be used."""

    kinds: Mapping[GroupVersionKind, CustomKind]
    faults: tuple[Diagnostic, ...] = ()

    @property
    def names(self) -> CustomNames:
        """The scopes and plurals of the kinds."""
        scoped = {(kind.group, kind.kind): self.kinds[kind].namespaced for kind in self.kinds}
        plurals = {key: kind.plural for key, kind in self.kinds.items() if kind.plural}
        return CustomNames(scoped, plurals)

    def versions(self, group: str, kind: str) -> list[str]:
        """Return the versions of a kind that are served."""
        return [key.version for key in self.kinds if (key.group, key.kind) == (group, kind)]


def is_outdated(resource: Resource) -> bool:
    """Report whether an object defines a kind in a version that no API server serves any more."""
    return is_definition(resource) and resource.api_version != _SERVED


def read_definitions(resources: Iterable[Resource]) -> Definitions:
    """Return the kinds that objects define; of two definitions of a kind the last counts."""
    kinds: dict[GroupVersionKind, CustomKind] = {}
    schemas: dict[tuple[str, str], _Read] = {}
    faults: list[Diagnostic] = []
    for resource in filter(is_definition, resources):
        if is_outdated(resource):
            message = f"{resource.api_version}: no API server serves it any more"
            faults.append(_fault(resource, message, "/apiVersion", f"write {_SERVED}"))
            continue
        for kind in _versions(resource, faults, schemas):
            kinds[kind.kind] = kind
    return Definitions(kinds, tuple(faults))


def _versions(
    resource: Resource, faults: list[Diagnostic], schemas: dict[tuple[str, str], _Read]
) -> Iterator[CustomKind]:
    spec = mapping_at(resource.body, "spec")
    names = mapping_at(spec, "names")
    group, kind, plural = spec.get("group"), names.get("kind"), names.get("plural")
    scope, versions = spec.get("scope"), spec.get("versions")
    if not names and group is None and versions is None:
        location = resource.location
        message = f"{KIND} '{resource.name}': defines no kind, as a patch may"
        faults.append(Diagnostic(RULE, Severity.NOTE, message, location))
        return
    for value, path in ((group, "group"), (kind, "names/kind"), (plural, "names/plural")):
        if not isinstance(value, str) or not value:
            field = f"spec.{path.replace('/', '.')}"
            faults.append(_fault(resource, f"{field} must be a string", f"/spec/{path}"))
            return
    if scope not in ("Namespaced", "Cluster"):
        faults.append(_fault(resource, "must be Namespaced or Cluster", "/spec/scope"))
        return
    if not isinstance(versions, list) or not versions:
        faults.append(_fault(resource, "must be a list of versions", "/spec/versions"))
        return
    for at, version in enumerate(versions):
        name = version.get("name") if isinstance(version, dict) else None
        if not isinstance(name, str) or not name:
            faults.append(_fault(resource, "must have a name", f"/spec/versions/{at}"))
        elif version.get("served") is not False:
            where = ("spec", "versions", at)
            body = mapping_at(version, "schema").get("openAPIV3Schema")
            schema = None
            if body is None:
                message = "has no schema.openAPIV3Schema: its objects are not validated"
                faults.append(_fault(resource, message, pointer_of(*where)))
            else:
                # A schema that repeats the one before it, as those of overlays do, is read once.
                read = schemas.get((resource.name, name))
                if read is None or read.body != body:
                    read = schemas[resource.name, name] = _read(body)
                for steps, message in read.faults:
                    pointer = pointer_of(*where, "schema", "openAPIV3Schema", *steps)
                    faults.append(_fault(resource, message, pointer))
                schema = read.schema
            yield CustomKind(
                definition=resource.name or f"{plural}.{group}",
                kind=GroupVersionKind(str(group), name, str(kind)),
                plural=str(plural),
                namespaced=scope == "Namespaced",
                schema=schema,
                drops_status=isinstance(mapping_at(version, "subresources").get("status"), dict),
                location=resource.location,
            )


class _Read(NamedTuple):
    """A schema as read from its body; faults: why it or some of its rules cannot be used."""

    body: Json
    schema: Schema | None
    faults: Sequence[tuple[FieldPath, str]]


def _read(body: Json) -> _Read:
    try:
        schema = read_schema(body)
    except SchemaError as error:
        return _Read(body, None, [(error.path, str(error))])
    complete_defaults(schema)
    faults: list[tuple[FieldPath, str]] = []
    for rule in rules_of(schema):
        compiled = compile_rule(rule.rule, rule.shape, rule.is_root)
        for key, fault in (("rule", compiled.fault), ("messageExpression", compiled.message_fault)):
            if fault:
                message = f"a {_NAMES[key]} does not compile: {fault}"
                faults.append(((*rule.path, key), message))
    return _Read(body, schema, faults)


def _fault(resource: Resource, message: str, pointer: str, hint: str | None = None) -> Diagnostic:
    location = resource.location.within(pointer)
    named = f"{KIND} '{resource.name}': " if resource.name else ""
    return Diagnostic(RULE, Severity.WARNING, f"{named}{message}", location, hint)
