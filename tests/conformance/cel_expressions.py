"""The CEL expressions of policies, with the environment of each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Environment, StructType, Variable
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.types import Type
from tests.data import tables

ENVIRONMENT_OF: Final[Mapping[str, str]] = tables(__file__)["environment_of"]
_FIELDS: Final = ("expression", "messageExpression", "valueExpression")
_GROUPS: Final = ("policies.kyverno.io/", "admissionregistration.k8s.io/")
_ELSEWHERE: Final = ("Envoy", "HTTP")
"""Evaluation modes of policies that Kyverno itself does not evaluate; they have other functions."""
_VARIABLES: Final = "kyverno.variables"


@dataclass(frozen=True, slots=True)
class Written:
    """An expression; variable: the name under which later ones see its value, or empty."""

    text: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Expressions that see the same variables, in the order in which they are compiled."""

    environment: str
    expressions: tuple[Written, ...]


def scopes(document: Any) -> Iterator[Scope]:
    """What a policy holds; nothing where the document is none or has no CEL."""
    if not isinstance(document, dict) or not isinstance(document.get("spec"), dict):
        return
    kind, group = document.get("kind", ""), str(document.get("apiVersion", ""))
    spec = document["spec"]
    if (spec.get("evaluation") or {}).get("mode") in _ELSEWHERE:
        return
    if kind in ENVIRONMENT_OF and group.startswith(_GROUPS):
        references = spec.get("matchImageReferences", [])
        rest = {key: value for key, value in spec.items() if key != "matchImageReferences"}
        yield Scope(ENVIRONMENT_OF[kind], tuple(_written(rest)))
        yield Scope("matchimage", tuple(_written(references)))
    elif kind == "PolicyException" and group.startswith("policies.kyverno.io/"):
        yield Scope("vpol", tuple(_written(spec)))
    elif kind in ("ClusterPolicy", "Policy") and group.startswith("kyverno.io/"):
        for rule in spec.get("rules", []):
            body = [rule.get("celPreconditions", []), (rule.get("validate") or {}).get("cel", {})]
            found = tuple(_written(body[1])) + tuple(_written(body[0]))
            if found:
                yield Scope("vap", found)


def _written(body: Any) -> Iterator[Written]:
    """The variables of a body and then everything else in it."""
    if isinstance(body, dict) and isinstance(body.get("variables"), list):
        for each in body["variables"]:
            yield Written(each["expression"], each["name"])
        body = {key: value for key, value in body.items() if key != "variables"}
    yield from _others(body)


def _others(body: Any) -> Iterator[Written]:
    if isinstance(body, list):
        for item in body:
            yield from _others(item)
    elif isinstance(body, dict):
        for key, value in body.items():
            if key in _FIELDS and isinstance(value, str):
                yield Written(value)
            else:
                yield from _others(value)


def with_variables(name: str, fields: Mapping[str, Type]) -> Environment:
    """An environment in which `variables` has these fields."""
    return ENVIRONMENTS[name].extend(
        variables={"variables": Variable(types.struct(_VARIABLES))},
        structs=(StructType(_VARIABLES, fields),),
    )
