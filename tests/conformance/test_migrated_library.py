"""The policies of the library convert, and agree with the forms in CEL that are written by hand.

Each is rendered as a ClusterPolicy and converted; the examples of its folder then come out as in
the ClusterPolicy and as in the form in CEL: what is refused, with which words, what is changed and
what is generated. Fields that are null are left out of the examples: an API server stores none.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import pytest

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import convert
from chartkit.engine.policies import RunnablePolicy
from chartkit.library.policies import Examples, FolderPolicy
from chartkit.model import Body, Json, Resource, Status
from chartkit.scan.verdicts import example_world, judge
from tests.policy_forms import ALL, CLUSTER, VALIDATING, compiled, render_for
from tests.policy_forms import judge as results_of
from tests.policy_library import read

LEFT: Final[dict[str, str]] = {}
"""Policies that do not convert completely, each with its reason. The list is strict."""

DIFFERENT: Final[dict[tuple[str, str], str]] = {}
"""Examples (policy, name) of which the form that is written by hand says something else, each with
its reason. The list is strict."""

EXAMPLES: Final = [(policy, examples) for policy in ALL for examples in policy.examples]


def _name(value: FolderPolicy | Examples) -> str:
    return value.name or "own"


each_example = pytest.mark.parametrize(("policy", "examples"), EXAMPLES, ids=_name)


@cache
def _converted(policy: str, example: int) -> tuple[Conversion, ...]:
    found = next(each for each in ALL if each.name == policy)
    rendered = render_for(CLUSTER, found, found.examples[example])
    return tuple(convert(each) for each in rendered)


def _forms(policy: FolderPolicy, examples: Examples) -> dict[str, tuple[RunnablePolicy, ...]]:
    conversions = _converted(policy.name, policy.examples.index(examples))
    new = [Resource(body, each.legacy.location) for each in conversions for body in each.documents]
    return {
        "legacy": compiled(render_for(CLUSTER, policy, examples)),
        "converted": compiled(new),
        "written": compiled(render_for(VALIDATING, policy, examples)),
    }


@each_example
def test_library_policy_converts_completely(policy: FolderPolicy, examples: Examples) -> None:
    conversions = _converted(policy.name, policy.examples.index(examples))
    reasons = [each.reason for one in conversions for each in one.outcomes if each.reason]
    assert bool(reasons) == (policy.name in LEFT), reasons


@each_example
def test_converted_policy_agrees_on_every_example(policy: FolderPolicy, examples: Examples) -> None:
    if policy.name in LEFT:
        return
    forms = _forms(policy, examples)
    for resource in map(_stored, (*read(examples.good), *read(examples.bad))):
        found = {name: _outcome(each, resource) for name, each in forms.items()}
        assert found["converted"] == found["legacy"], resource.name
        is_different = found["converted"] != found["written"]
        assert is_different == ((policy.name, resource.name) in DIFFERENT), (resource.name, found)


def _outcome(policies: Sequence[RunnablePolicy], resource: Resource) -> object:
    verdict = judge(policies, (), resource, example_world(resource))
    made = [
        _without_labels(each)
        for result in results_of(policies, resource)
        for other in (result, *result.others)
        for each in other.generated
    ]
    return verdict.acts, bool(verdict.error), verdict.changed, made


@each_example
def test_converted_policy_refuses_in_the_same_words(
    policy: FolderPolicy, examples: Examples
) -> None:
    rendered = render_for(CLUSTER, policy, examples)
    if policy.name in LEFT or any("verifyImages" in str(each.body) for each in rendered):
        return  # what an image lacks, Kyverno says in words of its own
    forms = _forms(policy, examples)
    for resource in map(_stored, read(examples.bad)):
        legacy, converted, written = (_words(each, resource) for each in forms.values())
        assert converted[:1] == legacy[:1], resource.name
        assert not written or written[0] in legacy, resource.name


def _without_labels(body: Body) -> Body:
    """Return a generated object without the labels by which Kyverno finds it again."""
    metadata = {key: each for key, each in body["metadata"].items() if key != "labels"}
    return {**body, "metadata": metadata}


def _stored(resource: Resource) -> Resource:
    body = _without_null(resource.body)
    assert isinstance(body, dict)
    return Resource(body, resource.location)


def _without_null(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items() if each is not None}
    return [_without_null(each) for each in value] if isinstance(value, list) else value


def _words(policies: Sequence[RunnablePolicy], resource: Resource) -> list[list[str]]:
    """Return the words of each failure in order, for lists of names come in an order of their own,
    and without what a pattern adds of the way to it."""
    failed = (each.message for each in results_of(policies, resource) if each.status is Status.FAIL)
    return [sorted(re.findall(r"[^\s,]+", _PATH.sub("", text).rstrip("."))) for text in failed]


_PATH: Final = re.compile(
    r"^validation (?:error|failure): |[.]? rule [\w-]+ failed .*$|[.]? rule [\w-]+\[\d+\].*$",
    re.DOTALL,
)
