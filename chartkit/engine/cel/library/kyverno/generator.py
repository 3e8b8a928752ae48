"""`kyverno.generator`: objects that a GeneratingPolicy makes.

A policy of a namespace has `apply` without the argument for one: it makes objects there alone.
"""

from __future__ import annotations

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable, member
from chartkit.engine.cel.library.printing import json_object, no_conversion
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise

_VARIABLES = context_variable("generator", "generator.Context")


def _apply(host: Host, namespace: str, objects: list[Value], position: int) -> bool:
    with Reraise(f"invalid arg {position}: ", CelError, CelError):
        bodies = [_body(each) for each in objects]
    with Reraise("failed to generate resources: ", CelError, CelError):
        host.generate(namespace, bodies)
    return True


def _body(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise no_conversion(value, "*structpb.Struct")
    return json_object(value)


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


LIBRARY = Library("kyverno.generator", overloads=apply, variables=_VARIABLES)

NAMESPACED_LIBRARY = Library(
    "kyverno.generator",
    overloads=apply_here,
    variables=_VARIABLES,
    documented="kyverno.generator, namespaced",
)
