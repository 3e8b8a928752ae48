"""The objects that need an exception, by the engine, and narrower exceptions that suffice."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from chartkit.engine import PolicyAttachments, RunnablePolicy, read_exceptions
from chartkit.engine.kubernetes.kinds import CEL_GROUP, KYVERNO_GROUP, group_of
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, RuleResult, Status, mapping_at, mappings_at
from chartkit.scan.gate import written_rule
from chartkit.scan.policies import compile_one
from chartkit.scan.run import ScanContext, run_scan

_VIOLATIONS = frozenset({Status.FAIL, Status.WARN})


@dataclass(frozen=True, slots=True)
class Lifted:
    """A violation that an exception lifts: the object, the policy and the rule of the result."""

    resource: Resource
    policy: str
    rule: str


Key: TypeAlias = tuple[int, str, str]


class Needs:
    """The violations of objects without exceptions, and which of them an exception lifts."""

    def __init__(
        self, policies: Sequence[RunnablePolicy], objects: Sequence[Resource], context: ScanContext
    ) -> None:
        """policies: compiled without exceptions."""
        own = [
            each
            for each in policies
            if group_of(each.policy.resource) in (KYVERNO_GROUP, CEL_GROUP)
        ]
        self._policies = {policy.policy.id: policy for policy in own}
        self._objects = objects
        self._context = context
        self._violations = self._failing(own, range(len(objects)))

    def lifted(self, forms: Sequence[Resource]) -> tuple[Lifted, ...]:
        """Return the violations that are none any more with the exceptions of some objects.

        Raise CompileError for an exception that Kyverno refuses.
        """
        around = read_exceptions(forms)
        named = [each for each in self._policies.values() if _names(around, each)]
        ids = {runnable_policy.policy.id for runnable_policy in named}
        before = [violation for violation in self._violations if violation[1] in ids]
        places = sorted({each[0] for each in before})
        if not places:
            return ()
        compiled = [_with(runnable_policy, around) for runnable_policy in named]
        after = set(self._failing([each for each in compiled if each is not None], places))
        return tuple(
            Lifted(self._objects[at], self._policies[policy].policy.key, rule)
            for at, policy, rule in before
            if (at, policy, rule) not in after
        )

    def _failing(self, policies: Sequence[RunnablePolicy], places: Iterable[int]) -> list[Key]:
        """Return the violations of the objects at some places, by place, policy and rule."""
        found: list[Key] = []
        at = list(places)
        order = iter(at)

        def take(_: Resource, results: Sequence[RuleResult]) -> None:
            place = next(order)
            failing = (result for result in results if result.status in _VIOLATIONS)
            found.extend((place, result.policy_id, result.rule) for result in failing)

        run_scan(policies, [self._objects[each] for each in at], take, self._context)
        return found


def _names(around: PolicyAttachments, policy: RunnablePolicy) -> bool:
    parsed = policy.policy
    if group_of(parsed.resource) == KYVERNO_GROUP:
        excepted = (one for exception in around.exceptions for one in exception.excepted)
        return any(one.policy == parsed.key for one in excepted)
    names = (name for exception in around.cel_exceptions for _, name in exception.references)
    return parsed.name in names


def _with(policy: RunnablePolicy, around: PolicyAttachments) -> RunnablePolicy | None:
    try:
        compiled = compile_one(policy.policy.resource, around)
    except CompileError:
        return None
    return compiled if isinstance(compiled, type(policy)) else None


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
    for exception in mappings_at(spec, "exceptions"):
        name = str(exception.get("policyName"))
        if name not in {one.policy for one in lifted}:
            yield f"policy {name} is not needed", ("policy", name)
            continue
        rules = {written_rule(one.rule) for one in lifted if one.policy == name}
        for rule in exception.get("ruleNames") or ():
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
    """Report whether a filter is for objects of every namespace."""
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
