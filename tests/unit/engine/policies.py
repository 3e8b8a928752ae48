"""Small policies and objects for the tests of the engine."""

from typing import Any

from chartkit.engine.cluster_policy.policy import Policy, read_policy
from chartkit.engine.request import Request
from chartkit.model import Body, Location, Resource
from tests.objects import api_object

PLACE = Location("policy.yaml", 3)


def rule(name: str = "r", kinds: tuple[str, ...] = ("Pod",), **parts: Any) -> Body:
    """A rule that asks for a name; parts replace or add fields."""
    body: Body = {
        "name": name,
        "match": {"any": [{"resources": {"kinds": list(kinds)}}]},
        "validate": {"message": "m", "pattern": {"metadata": {"name": "?*"}}},
    }
    return body | parts


def policy_resource(*rules: Body, **spec: Any) -> Resource:
    """A ClusterPolicy named `p`."""
    body: Body = api_object(
        "kyverno.io/v1", "ClusterPolicy", "p", spec={"rules": list(rules or (rule(),)), **spec}
    )
    return Resource(body, PLACE)


def policy(*rules: Body, **spec: Any) -> Policy:
    """A ClusterPolicy named `p`, read."""
    return read_policy(policy_resource(*rules, **spec))


def obj(kind: str = "Pod", api_version: str = "v1", name: str = "a", **metadata: Any) -> Resource:
    """An object in the namespace `default`; metadata replaces or adds fields."""
    full = {"name": name, "namespace": "default", **metadata}
    return Resource({"apiVersion": api_version, "kind": kind, "metadata": full})


def request(resource: Resource | None = None, **fields: Any) -> Request:
    """A request to create an object."""
    return Request(resource or obj(), **fields)
