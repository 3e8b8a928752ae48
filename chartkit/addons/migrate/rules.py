"""The rules of a legacy object by type, read without a schema: also of objects that are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.model import Body, Resource, mapping_at, text_of

CLEANUP: Final = "cleanup"
EXCEPTION: Final = "exception"
UNKNOWN_TYPE: Final = "unknown"
_OF_RULES: Final = ("ClusterPolicy", "Policy")
_VALIDATE: Final = (
    "podSecurity",
    "cel",
    "manifests",
    "foreach",
    "deny",
    "anyPattern",
    "pattern",
    "assert",
)
_MUTATE: Final = ("foreach", "patchStrategicMerge", "patchesJson6902")
_GENERATE: Final = ("foreach", "cloneList", "clone", "data")


@dataclass(frozen=True, slots=True)
class LegacyRule:
    """A rule of a legacy object.

    name: empty for an object without rules, a cleanup policy or an exception; type: as
    `validate.pattern` or `mutate.targets.patchStrategicMerge`; pointer: the JSON pointer of the
    rule in the object, empty for the object itself.
    """

    name: str
    type: str
    pointer: str = ""


def legacy_rules(resource: Resource) -> tuple[LegacyRule, ...]:
    """Return the rules of a legacy object in their order; an object without rules is one."""
    if resource.kind in _OF_RULES:
        rules = mapping_at(resource.body, "spec").get("rules")
        return tuple(
            LegacyRule(text_of(rule.get("name")), type_of(rule), f"/spec/rules/{index}")
            for index, rule in enumerate(rules if isinstance(rules, list) else ())
            if isinstance(rule, dict)
        )
    return (LegacyRule("", EXCEPTION if resource.kind == "PolicyException" else CLEANUP),)


def type_of(rule: Body) -> str:
    """Return the type of a rule, in the order in which Kyverno looks (`HasMutate` first)."""
    return ".".join(next(_types(rule), (UNKNOWN_TYPE,)))


def _types(rule: Body) -> Iterator[Sequence[str]]:
    if mutate := mapping_at(rule, "mutate"):
        target = ("targets",) if mutate.get("targets") else ()
        yield "mutate", *target, *_first(mutate, _MUTATE)
    if generate := mapping_at(rule, "generate"):
        yield "generate", *_first(generate, _GENERATE)
    if rule.get("verifyImages"):
        yield ("verifyImages",)
    if validate := mapping_at(rule, "validate"):
        yield "validate", *_first(validate, _VALIDATE)


def _first(body: Body, keys: Sequence[str]) -> Sequence[str]:
    return [key for key in keys if body.get(key) is not None][:1]
