"""Every policy's own resources: they come out right, and they pin the policy down leaf by leaf."""

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from chartkit.engine.request import Operation
from chartkit.errors import CompileError
from chartkit.kyverno.policy_fields import minimum_version
from chartkit.library.policies import Examples, FolderPolicy
from chartkit.model import Body, Json, Resource, RuleResult, Status
from tests.policy_library import library, read, render, verdicts

POLICIES = [
    policy
    for policy in library().policies.values()
    if policy.cel and "kind: ValidatingPolicy" in policy.cel.text
]
"""Those that validate; what the others do to their resources is judged with their forms."""
EXAMPLES = [(policy, examples) for policy in POLICIES for examples in policy.examples]
BROKEN = {Status.FAIL, Status.ERROR}


def _name(value: FolderPolicy | Examples) -> str:
    return value.name or "own"


each_policy = pytest.mark.parametrize("policy", POLICIES, ids=_name)
each_example = pytest.mark.parametrize(("policy", "examples"), EXAMPLES, ids=_name)


@cache
def _render_all(parameters: tuple[tuple[str, Json], ...]) -> Mapping[str, Body]:
    return render(POLICIES, dict(parameters))


def _rendered(policy: FolderPolicy, examples: Examples) -> Body | None:
    if any(isinstance(value, list) for value in examples.parameters.values()):
        return render([policy], examples.parameters).get(policy.name)
    return _render_all(tuple(examples.parameters.items())).get(policy.name)


def _wrong(policy: Body, good: list[Resource], bad: list[Resource]) -> Iterator[str]:
    accepts = not all(rule["validate"].get("deny") == {} for rule in policy["spec"]["rules"])
    accepted = verdicts(policy, good)
    if accepts and not any(r.status is Status.PASS for each in accepted.values() for r in each):
        yield "no good one is judged"
    for name, results in accepted.items():
        yield from (f"good {name}: {_text(r)}" for r in results if r.status in BROKEN)
    for name, results in verdicts(policy, bad).items():
        if not any(result.status is Status.FAIL for result in results):
            yield f"bad {name} does not fail"
        yield from (f"bad {name}: {_text(r)}" for r in results if r.status is Status.ERROR)
    for name, results in verdicts(policy, bad, Operation.DELETE).items():
        yield from (f"{name} cannot go: {_text(r)}" for r in results if r.status in BROKEN)


def _text(result: RuleResult) -> str:
    return f"{result.rule}: {result.status} {result.message}"


@each_example
def test_own_resources_come_out_right(policy: FolderPolicy, examples: Examples) -> None:
    good, bad = read(examples.good), read(examples.bad)
    assert good, "a set of examples shows what is allowed"
    rendered = _rendered(policy, examples)
    if rendered is None:
        assert not bad, "a policy that is not written cannot refuse anything"
        return
    assert list(_wrong(rendered, good, bad)) == []


@each_policy
def test_shows_what_is_refused_at_default_values(policy: FolderPolicy) -> None:
    assert len(read(policy.examples[0].good)) > 1
    assert len(read(policy.examples[0].bad)) > 1


@each_example
def test_messages_of_failures_are_resolved(policy: FolderPolicy, examples: Examples) -> None:
    rendered = _rendered(policy, examples)
    found = verdicts(rendered, read(examples.bad)) if rendered else {}
    for name, results in found.items():
        for result in results:
            if result.status is Status.FAIL:
                assert result.message, name
                assert "{{" not in result.message, name
                assert "substitution" not in result.message, name


@each_policy
def test_every_leaf_of_a_pattern_is_pinned_down(policy: FolderPolicy) -> None:
    pinned: set[tuple[str, ...]] = set()
    known: set[tuple[str, ...]] = set()
    for examples in policy.examples:
        rendered = _rendered(policy, examples)
        if rendered is None:
            continue
        good, bad = read(examples.good), read(examples.bad)
        for leaf, changed in _without_each_leaf(rendered):
            known.add(leaf)
            if leaf not in pinned and _is_noticed(changed, good, bad):
                pinned.add(leaf)
    assert known
    assert sorted(known - pinned) == []


def _is_noticed(policy: Body, good: list[Resource], bad: list[Resource]) -> bool:
    try:
        return next(_wrong(policy, good, bad), None) is not None
    except CompileError:
        return True


def _without_each_leaf(policy: Body) -> Iterator[tuple[tuple[str, ...], Body]]:
    for index, rule in enumerate(policy["spec"]["rules"]):
        parts = {key: rule["validate"].get(key) for key in ("pattern", "anyPattern", "deny")}
        parts["preconditions"] = rule.get("preconditions")
        for key, part in parts.items():
            for path in _leaves(part):
                changed = copy.deepcopy(policy)
                inside = changed["spec"]["rules"][index]
                holder = inside if key == "preconditions" else inside["validate"]
                holder[key] = _without(part, path)
                yield (rule["name"], key, *map(str, path)), changed


_OPERATORS = (" | ", " & ")


def _leaves(part: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of a pattern's leaves: values, items, conditions, alternatives inside a text."""
    if isinstance(part, dict) and {"key", "operator", "value"} <= part.keys():
        yield path
        if isinstance(part["value"], list) and len(part["value"]) > 1:
            yield from ((*path, "value", index) for index in range(len(part["value"])))
        return
    entries: Any = ()
    if isinstance(part, dict):
        entries = part.items()
    elif isinstance(part, list):
        entries = enumerate(part)
    elif path:
        yield path
        yield from _alternatives(part, path)
    for key, value in entries:
        yield from _leaves(value, (*path, key))


def _alternatives(text: Json, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for operator in _OPERATORS:
        if isinstance(text, str) and operator in text:
            yield from ((*path, operator, part) for part in text.split(operator))


def _without(part: Any, path: tuple[Any, ...]) -> Any:
    key, rest = path[0], path[1:]
    if key in _OPERATORS:
        return key.join(item for item in part.split(key) if item != rest[0])
    changed = copy.copy(part)
    if rest:
        changed[key] = _without(part[key], rest)
    else:
        del changed[key]
    return changed


@each_policy
def test_metadata_is_complete(policy: FolderPolicy) -> None:
    rendered = _rendered(policy, policy.examples[0])
    assert rendered is not None
    extension = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    assert {"annotations": extension, **rendered["metadata"]} == {
        "name": policy.name,
        "annotations": extension,
    }
    assert policy.control.source.startswith("https://")
    assert policy.title[0].isupper()
    assert len(policy.description) > 60
    kinds = {
        kind.rpartition("/")[2]
        for rule in rendered["spec"]["rules"]
        for block in rule["match"]["any"]
        for kind in block["resources"]["kinds"]
    }
    assert set(policy.subject) == kinds


@each_policy
def test_claims_a_version_that_has_its_fields(policy: FolderPolicy) -> None:
    rendered = _rendered(policy, policy.examples[0])
    assert rendered is not None
    needed, _ = minimum_version(rendered)
    assert policy.minimum_kyverno >= needed


@each_policy
def test_rules_tell_what_to_do(policy: FolderPolicy) -> None:
    rendered = _rendered(policy, policy.examples[0])
    assert rendered is not None
    for rule in rendered["spec"]["rules"]:
        assert rule["validate"]["message"].endswith(".")
        assert len({"pattern", "anyPattern", "deny"} & rule["validate"].keys()) == 1
