"""Small CEL policies, objects and runs of them for the tests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cel_policies.exceptions import CelException, read_cel_exception
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Operation, Request
from chartkit.engine.responses import explain
from chartkit.model import Body, Location, Resource, RuleResult
from tests.objects import api_object

PLACE = Location("policy.yaml", 3)
KYVERNO = "policies.kyverno.io/v1"
KUBERNETES = "admissionregistration.k8s.io/v1"


def about(*resources: str, **parts: Any) -> Body:
    """A resource rule of the core group and `apps`; parts replace or add fields."""
    rule: Body = {
        "apiGroups": ["", "apps"],
        "apiVersions": ["v1"],
        "resources": list(resources or ("pods",)),
        "operations": ["*"],
    }
    return rule | parts


PODS: Body = {"resourceRules": [about("pods", apiGroups=[""])]}


def policy(
    kind: str = "ValidatingPolicy", *, metadata: Body | None = None, **spec: Any
) -> Resource:
    """A policy named `p` about Pods; a part that is None is left out."""
    parts = {"matchConstraints": PODS, **spec}
    body: Body = {
        "apiVersion": KUBERNETES if "Admission" in kind else KYVERNO,
        "kind": kind,
        "metadata": {"name": "p", **(metadata or {})},
        "spec": {name: part for name, part in parts.items() if part is not None},
    }
    return Resource(body, PLACE)


def validating(*expressions: str, **spec: Any) -> Resource:
    """A ValidatingPolicy about Pods alone, with some validations."""
    spec.setdefault("autogen", {"podControllers": {"controllers": []}})
    spec.setdefault("validations", [{"expression": text} for text in expressions])
    return policy(**spec)


def conditions(*expressions: str) -> list[Body]:
    """Match conditions with names of their own."""
    return [{"name": f"c{index}", "expression": text} for index, text in enumerate(expressions)]


def variables(**expressions: str) -> list[Body]:
    """Variables by name."""
    return [{"name": name, "expression": text} for name, text in expressions.items()]


def exception(*names: str, kind: str = "ValidatingPolicy", **parts: Any) -> CelException:
    """A PolicyException `default/e` for policies of a kind; labels and name may be among parts."""
    metadata = {
        "name": parts.pop("name", "e"),
        "namespace": "default",
        "labels": parts.pop("labels", {}),
    }
    references = [{"name": name, "kind": kind} for name in names or ("p",)]
    body: Body = api_object(
        KYVERNO, "PolicyException", metadata, spec={"policyRefs": references, **parts}
    )
    return read_cel_exception(Resource(body, PLACE))


def pod(name: str = "web", namespace: str = "default", **parts: Any) -> Resource:
    """A Pod with one container; parts go to its metadata, but for `spec`."""
    spec = parts.pop("spec", {"containers": [{"name": "c", "image": "nginx:1"}]})
    metadata = {"name": name, "namespace": namespace, **parts}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def deployment(name: str = "web") -> Resource:
    """A Deployment of the same container."""
    spec: Body = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
        },
    }
    metadata = {"name": name, "namespace": "default", "labels": {"own": "yes"}}
    return Resource(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    )


def results(
    resource: Resource,
    subject: Resource | None = None,
    *,
    exceptions: Sequence[CelException] = (),
    bindings: Sequence[Resource] = (),
    operation: Operation = Operation.CREATE,
    world: World = OFFLINE,
    **request: Any,
) -> list[RuleResult]:
    """What a policy says of an object."""
    compiled = compile_cel_policy(resource, exceptions, bindings)
    asked = replace(Request(subject or pod()), operation=operation, **request)
    return evaluate([compiled], asked, world)


def explained(resource: Resource, subject: Resource | None = None) -> list[RuleResult]:
    """What a policy says of an object where somebody asks why."""
    return explain([compile_cel_policy(resource)], Request(subject or pod()))[1]


def said(resource: Resource, subject: Resource | None = None, **given: Any) -> tuple[str, str]:
    """Status and message of the one result."""
    (result,) = results(resource, subject, **given)
    return result.status.value, result.message
