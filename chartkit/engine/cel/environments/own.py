"""The variables of policies, and their types, as libraries."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Library, StructType, Variable, type_constants
from chartkit.engine.cel.library.kubernetes import admission
from chartkit.engine.cel.types import DYN, STRING, Type


def _variables(name: str, *structs: StructType, **declared: Type) -> Library:
    variables = {key: Variable(type_) for key, type_ in declared.items()}
    return Library(name, structs=structs, variables=MappingProxyType(variables))


KUBERNETES: Final = _variables(
    "kubernetes.variables",
    object=DYN,
    oldObject=DYN,
    params=DYN,
    request=admission.REQUEST,
    namespaceObject=admission.NAMESPACE,
)
OBJECT: Final = _variables("kyverno.object", object=DYN)
_OF_POLICY: Final = types.struct("kyverno.variables")
REQUEST: Final = _variables(
    "kyverno.request",
    # Which fields there are only a policy says.
    StructType(_OF_POLICY.name, MappingProxyType({})),
    oldObject=DYN,
    request=admission.REQUEST,
    namespaceObject=admission.NAMESPACE,
    variables=_OF_POLICY,
)
REQUEST_TYPES: Final = Library(
    "kyverno.requesttypes",
    variables=MappingProxyType(type_constants(admission.REQUEST, admission.NAMESPACE)),
)
IMAGES: Final = _variables(
    "kyverno.images",
    images=types.map_of(STRING, types.LIST_STRING),
    attestors=types.map_of(STRING, DYN),
    attestations=types.map_of(STRING, STRING),
)
REFERENCE: Final = _variables("kyverno.reference", ref=STRING)

_EXCEPTION: Final = types.struct("libs.Exception")
_EXCEPTION_FIELDS: Final = MappingProxyType(
    {"allowedImages": types.LIST_STRING, "allowedValues": types.LIST_STRING}
)
EXCEPTIONS: Final = Library(
    "kyverno.exceptions",
    structs=(StructType(_EXCEPTION.name, _EXCEPTION_FIELDS),),
    variables=MappingProxyType({"exceptions": Variable(_EXCEPTION), **type_constants(_EXCEPTION)}),
)
UNDECLARED_EXCEPTIONS: Final = _variables(
    "kyverno.exceptions", exceptions=types.struct("compiler.Exception")
)
"""The variable of kinds that declare no type of exceptions."""
