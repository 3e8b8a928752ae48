"""Flags of Kyverno's controllers, read from their rendered Deployments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.kyverno.controllers import controllers
from chartkit.model import Json, Resource

_FLAG: Final = "allowHTTPInNamespacedPolicies"
_VARIABLE: Final = "FLAG_ENABLE_HTTP_IN_NAMESPACED_POLICIES"
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def allows_http(resources: Sequence[Resource]) -> bool:
    """Return whether namespaced policies may call services. Every controller that evaluates
    policies must have the flag, or the variable in its place: one without it refuses what the
    others accept."""
    found = controllers(resources)
    return bool(found) and all(_allows(one.deployment) for one in found)


def _allows(deployment: Resource) -> bool:
    spec = _member(_member(_member(deployment.body, "spec"), "template"), "spec")
    return any(_is_on(one) for one in _items(spec, "containers"))


def _is_on(container: Json) -> bool:
    flag = _last(_values(_items(container, "args")))
    if flag is not None:
        return flag
    listed = (one for one in _items(container, "env") if _member(one, "name") == _VARIABLE)
    return bool(_last(_member(one, "value") for one in listed))


def _last(values: Iterator[Json]) -> bool | None:
    """Return the last value that Go reads as a boolean; an invalid one after it unsets it."""
    found: bool | None = None
    for value in values:
        text = value if isinstance(value, str) else ""
        found = True if text in _TRUE else False if text in _FALSE else None
    return found


def _values(arguments: Sequence[Json]) -> Iterator[Json]:
    """Yield the values of the flag, as Go's package `flag` reads them."""
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = str(argument).removeprefix("-").removeprefix("-").partition("=")
        if name == _FLAG and str(argument).startswith("-"):
            yield value if equals else next(rest, "")


def _member(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Json, key: str) -> Sequence[Json]:
    found = _member(value, key)
    return found if isinstance(found, list) else ()
