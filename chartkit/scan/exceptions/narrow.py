"""Narrower exceptions that let the same objects off, each shown by the engine."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, mapping_at, mappings_at
from chartkit.scan.exceptions.need import Lifted, Needs
from chartkit.scan.gate.violation import written_rule

_ANY = ("*", "?*")


@dataclass(frozen=True, slots=True)
class Narrower:
    """An exception that suffices; steps: what it leaves out, in words."""

    body: Body
    steps: tuple[str, ...]


def narrower(resource: Resource, lifted: Sequence[Lifted], needs: Needs) -> Narrower | None:
    """Return a narrower exception than one that lets the same objects off, None where the engine
    shows none; lifted: what the exception lifts."""
    wanted = set(map(_key, lifted))
    body, steps = resource.body, list[str]()
    for text, candidate in _candidates(resource.body, lifted):
        narrowed = _apply(body, candidate)
        if narrowed == body:
            continue
        try:
            found = set(map(_key, needs.lifted([Resource(narrowed, resource.location)])))
        except CompileError:
            continue
        if found >= wanted:
            body = narrowed
            steps.append(text)
    return Narrower(body, tuple(steps)) if steps else None


def _key(lifted: Lifted) -> tuple[int, str, str]:
    return id(lifted.resource), lifted.policy, lifted.rule


Change = tuple[str, object]


def _candidates(body: Body, lifted: Sequence[Lifted]) -> Iterator[tuple[str, Change]]:
    """Yield what may be left out, in words, with the change."""
    spec = mapping_at(body, "spec")
    policies = {each.policy.rpartition("/")[2] for each in lifted}
    for name in dict.fromkeys(str(each.get("name")) for each in mappings_at(spec, "policyRefs")):
        if name not in policies:
            yield f"policy {name} is not needed", ("policyRef", name)
    for each in mappings_at(spec, "exceptions"):
        name = str(each.get("policyName"))
        if name not in {one.policy for one in lifted}:
            yield f"policy {name} is not needed", ("policy", name)
            continue
        rules = {written_rule(one.rule) for one in lifted if one.policy == name}
        for rule in each.get("ruleNames") or ():
            fits = compile_wildcard(str(rule))
            if not any(fits(one) or fits(f"autogen-{one}") for one in rules):
                yield f"rule {rule} of {name} is not needed", ("rule", (name, rule))
    if "match" in spec:
        yield from _of_filters(mapping_at(spec, "match"), lifted)
    elif not spec.get("matchConditions"):
        spaces = sorted({each.resource.namespace for each in lifted})
        if all(spaces):
            yield f"namespaces {', '.join(spaces)} suffice", ("condition", spaces)


def _of_filters(match: Body, lifted: Sequence[Lifted]) -> Iterator[tuple[str, Change]]:
    filters = mappings_at(match, "any")
    for filter_ in filters if len(filters) > 1 else ():
        parts = [
            f"{key} {', '.join(map(str, value))}"
            for key, value in mapping_at(filter_, "resources").items()
            if isinstance(value, list)
        ]
        shown = "; ".join(parts) or "any object"
        yield f"a filter is not needed ({shown})", ("filter", filter_)
    spaces = sorted({each.resource.namespace for each in lifted})
    wide = [each for each in filters if _is_wide(mapping_at(each, "resources"))]
    if wide and all(spaces):
        yield f"namespaces {', '.join(spaces)} suffice", ("namespaces", spaces)


def _is_wide(resources: Body) -> bool:
    """Return whether a filter is for objects of every namespace."""
    names = resources.get("namespaces")
    return not resources.get("namespaceSelector") and (
        not names or any(name in _ANY for name in names)
    )


def _apply(body: Body, change: Change) -> Body:
    kind, value = change
    made = copy.deepcopy(body)
    spec: Body = made["spec"]
    if kind == "policyRef":
        spec["policyRefs"] = [one for one in spec["policyRefs"] if one.get("name") != value]
    elif kind == "policy":
        spec["exceptions"] = [one for one in spec["exceptions"] if one.get("policyName") != value]
    elif kind == "rule" and isinstance(value, tuple):
        for one in spec["exceptions"]:
            if one.get("policyName") == value[0]:
                one["ruleNames"] = [rule for rule in one["ruleNames"] if rule != value[1]]
    elif kind == "filter":
        spec["match"]["any"] = [one for one in spec["match"]["any"] if one != value]
    elif kind == "namespaces":
        for one in spec["match"]["any"]:
            if _is_wide(mapping_at(one, "resources")):
                one.setdefault("resources", {})["namespaces"] = value
    elif kind == "condition":
        expression = f"object.metadata.?namespace.orValue('') in {json.dumps(value)}"
        spec["matchConditions"] = [{"name": "namespaces", "expression": expression}]
    return made
