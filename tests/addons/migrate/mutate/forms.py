"""Both forms of a mutate rule: the policies and what they make of objects."""

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from chartkit.addons.migrate.convert import convert
from chartkit.engine.policies import compile_any, evaluate
from chartkit.engine.request import Request
from chartkit.model import Body, Location, Resource, Status

_AUTOGEN = "pod-policies.kyverno.io/autogen-controllers"


def policy(mutate: str, kind: str = "Pod", autogen: str | None = "none", **rule: Any) -> Resource:
    """Return a ClusterPolicy with one mutate rule; autogen: None for Kyverno's default."""
    matched = {"any": [{"resources": {"kinds": [kind]}}]}
    annotations = {} if autogen is None else {_AUTOGEN: autogen}
    body = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "change", "annotations": annotations},
        "spec": {
            "rules": [{"name": "r", "match": matched, "mutate": yaml.safe_load(mutate), **rule}]
        },
    }
    return Resource(body, Location("policy.yaml"))


def documents(legacy: Resource) -> Sequence[Body]:
    """Return the policies that take over."""
    conversion = convert(legacy)
    assert conversion.complete, conversion.outcomes
    return conversion.documents


def converted(legacy: Resource) -> Body:
    """Return the one policy that takes over."""
    (document,) = documents(legacy)
    return document


def expression(legacy: Resource) -> str:
    """Return the expression of the one mutation that takes over, as one line."""
    (mutation,) = converted(legacy)["spec"]["mutations"]
    key = "jsonPatch" if mutation["patchType"] == "JSONPatch" else "applyConfiguration"
    return _one_line(mutation[key]["expression"])


def conditions(legacy: Resource) -> dict[str, str]:
    """Return the match conditions of the policy that takes over, by name."""
    listed = converted(legacy)["spec"].get("matchConditions", [])
    return {each["name"]: _one_line(each["expression"]) for each in listed}


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")")


def reason(legacy: Resource) -> str:
    """Return why a policy's one rule is left."""
    (outcome,) = convert(legacy).outcomes
    return outcome.reason


def assert_same(legacy: Resource, bodies: Iterable[Body]) -> None:
    """Assert that both forms make the same of objects, and change one of them at least."""
    old = [compile_any(legacy)]
    new = [compile_any(Resource(each, Location("new"))) for each in documents(legacy)]
    changed = False
    for body in bodies:
        before, after = (_mutated(form, body) for form in (old, new))
        assert after == before, body
        changed = changed or before != (body, False)
    assert changed


def mutated(legacy: Resource, body: Body) -> tuple[Body, bool]:
    """Return what the new form makes of an object, and whether it failed."""
    return _mutated(
        [compile_any(Resource(each, Location("new"))) for each in documents(legacy)], body
    )


def _mutated(policies: list[Any], body: Body) -> tuple[Body, bool]:
    results = evaluate(policies, Request(Resource(body, Location("object"))))
    patched = [one.patched for one in results if one.patched and one.status is Status.PASS]
    failed = any(one.status is Status.ERROR for one in results)
    return (patched[-1] if patched else body), failed


def pod(spec: str = "", metadata: str = "") -> Body:
    """Return a Pod with a container, with more in its specification and metadata."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", **(yaml.safe_load(metadata) or {})},
        "spec": {"containers": [{"name": "app", "image": "a"}], **(yaml.safe_load(spec) or {})},
    }
