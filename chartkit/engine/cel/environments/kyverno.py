"""The environments of Kyverno's kinds: its functions on Kubernetes' environment or on plain CEL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import (
    Environment,
    Library,
    Options,
    StructType,
    Variable,
    environment,
)
from chartkit.engine.cel.environments import kubernetes as base
from chartkit.engine.cel.library import standard
from chartkit.engine.cel.library.extensions import (
    bindings,
    encoders,
    maths,
    optionals,
    regexes,
    sets,
    strings,
)
from chartkit.engine.cel.library.extensions import lists as cel_lists
from chartkit.engine.cel.library.kubernetes import (
    admission,
    cidr,
    ip,
    lists,
    mutation,
    naming,
    quantity,
    regex,
    semver,
    urls,
)
from chartkit.engine.cel.library.kyverno import gzip, json, or_value, resource, values, world
from chartkit.engine.cel.library.kyverno.images import references, verification
from chartkit.engine.cel.types import DYN, STRING, Type

_EXTENSIONS: Final[tuple[Library, ...]] = (
    optionals.LIBRARY,
    bindings.LIBRARY,
    encoders.LIBRARY,
    cel_lists.LIBRARY,
    maths.LIBRARY,
    bindings.PROTOS_LIBRARY,
    sets.LIBRARY,
    strings.LIBRARY,
    regexes.LIBRARY,
    cidr.LIBRARY,
    naming.LIBRARY,
    ip.LIBRARY,
    lists.LIBRARY,
    regex.LIBRARY,
    urls.LIBRARY,
    quantity.LIBRARY,
    semver.LIBRARY,
)
"""The extensions of every kind, in Kyverno's order."""

_SHARED: Final[tuple[Library, ...]] = (
    world.GLOBAL_CONTEXT,
    references.LIBRARY,
    world.IMAGE_DATA,
    values.HASH,
    values.MATH,
    json.LIBRARY,
    values.YAML,
    values.RANDOM,
    values.TIME,
    values.TRANSFORM,
    gzip.LIBRARY,
)

_EXCEPTION_FIELDS: Final = MappingProxyType(
    {"allowedImages": types.LIST_STRING, "allowedValues": types.LIST_STRING}
)


def _exceptions() -> Library:
    kind = types.struct("libs.Exception")
    return Library(
        "kyverno.exceptions",
        structs=(StructType(kind.name, _EXCEPTION_FIELDS),),
        variables=MappingProxyType(
            {
                "exceptions": Variable(kind),
                kind.name: Variable(types.type_of_type(kind), kind, has_value=True),
            }
        ),
    )


def _variables(name: str, *structs: StructType, **declared: Type) -> Library:
    variables = {key: Variable(type_) for key, type_ in declared.items()}
    return Library(name, structs=structs, variables=MappingProxyType(variables))


_OBJECT: Final = _variables("kyverno.object", object=DYN)
_OF_POLICY: Final = types.struct("kyverno.variables")
_REQUEST: Final = _variables(
    "kyverno.request",
    # Which fields there are only a policy says.
    StructType(_OF_POLICY.name, MappingProxyType({})),
    oldObject=DYN,
    request=admission.REQUEST,
    namespaceObject=admission.NAMESPACE,
    variables=_OF_POLICY,
)
_IMAGES: Final = _variables(
    "kyverno.images",
    images=types.map_of(STRING, types.LIST_STRING),
    attestors=types.map_of(STRING, DYN),
    attestations=types.map_of(STRING, STRING),
)
_PLAIN: Final[tuple[Library, ...]] = (standard.LIBRARY, *_EXTENSIONS)
_CLUSTER: Final[tuple[Library, ...]] = (*base.BASE, *_EXTENSIONS)
_ADMISSION: Final[tuple[Library, ...]] = (admission.WITH_OBJECTS_LIBRARY, _OBJECT, _REQUEST)

_KINDS: Final[Mapping[str, tuple[Library, ...]]] = {
    "vpol": (
        *_CLUSTER,
        or_value.LIBRARY,
        *_ADMISSION,
        _exceptions(),
        *_SHARED,
        values.USER,
        values.X509,
    ),
    "mpol": (
        *_CLUSTER,
        or_value.LIBRARY,
        *_ADMISSION,
        mutation.LIBRARY,
        _exceptions(),
        mutation.JSON_PATCH_LIBRARY,
        *_SHARED,
        values.X509,
        values.USER,
    ),
    "gpol": (
        *_PLAIN,
        or_value.LIBRARY,
        *_ADMISSION,
        _exceptions(),
        *_SHARED,
        values.X509,
    ),
    "dpol": (
        *_PLAIN,
        or_value.LIBRARY,
        *_ADMISSION,
        mutation.LIBRARY,
        _variables("kyverno.exceptions", exceptions=types.struct("compiler.Exception")),
        *_SHARED,
        values.X509,
    ),
    "ivpol": (
        *_CLUSTER,
        *_ADMISSION,
        _IMAGES,
        *_SHARED,
        verification.LIBRARY,
        values.USER,
    ),
    "ivpol-json": (
        *_CLUSTER,
        admission.WITH_OBJECTS_LIBRARY,
        _OBJECT,
        _IMAGES,
        *_SHARED,
        verification.LIBRARY,
        values.USER,
    ),
    "matchimage": (*_PLAIN, _variables("kyverno.reference", ref=STRING), references.LIBRARY),
}
_GENERATING: Final = "gpol"
_LENIENT: Final = Options(validate=False, fold=False, cost_limit=None)
_OPTIONS: Final[Mapping[str, Options]] = {
    "gpol": replace(_LENIENT, homogeneous=False),
    "dpol": _LENIENT,
    "matchimage": _LENIENT,
}
_HIDDEN: Final = {"dpol": frozenset({"net.CIDR", "net.IP", "optional_type"})}
"""Names of types that a kind does not know, for want of a type provider that has them."""


def make_environment(name: str) -> Environment:
    """The environment of a kind; of a namespaced one where its name begins with an n."""
    kind = name if name in _KINDS else name.removeprefix("n")
    made = environment(name, _libraries(kind, namespaced=kind != name), _OPTIONS.get(kind))
    hidden = _HIDDEN.get(kind)
    if not hidden:
        return made
    kept = {key: value for key, value in made.variables.items() if key not in hidden}
    return replace(made, variables=MappingProxyType(kept))


def _libraries(kind: str, namespaced: bool) -> tuple[Library, ...]:
    libraries = list(_KINDS[kind])
    if kind != "matchimage":
        # In this order: of a function that both have, the first one's type shows.
        libraries.append(resource.NAMESPACED_LIBRARY if namespaced else resource.LIBRARY)
        libraries.append(world.HTTP)
    if kind == _GENERATING:
        libraries.append(world.NAMESPACED_GENERATOR if namespaced else world.GENERATOR)
        libraries.append(_request_types())
    # The cluster's environment has some of what every kind adds: it counts once.
    return tuple({library.name: library for library in libraries}.values())


def _request_types() -> Library:
    kinds = (admission.REQUEST, admission.NAMESPACE)
    variables = {
        kind.name: Variable(types.type_of_type(kind), kind, has_value=True) for kind in kinds
    }
    return Library("kyverno.requesttypes", variables=MappingProxyType(variables))
