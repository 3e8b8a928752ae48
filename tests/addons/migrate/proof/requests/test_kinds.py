"""The kinds that proofs ask about."""

import pytest

from chartkit.addons.migrate.proof.requests.schema import compared_kinds, subresources_of
from chartkit.engine.kubernetes.kinds import GroupVersionKind

_DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("apps/v1beta1", [_DEPLOYMENT._replace(version="v1beta1")]),
        ("apps/v1beta1/Deployment", [_DEPLOYMENT._replace(version="v1beta1")]),
        ("extensions/v1beta1/Ingress", [GroupVersionKind("extensions", "v1beta1", "Ingress")]),
        ("v1/Pod", [GroupVersionKind("", "v1", "Pod")]),
        ("Pod", [GroupVersionKind("", "v1", "Pod")]),
        ("apps/v1/Deployment", []),
        ("apps/v1beta1/Deploymentx", []),
        ("a/b/c", []),
        ("", []),
    ],
)
def test_kinds_that_a_policy_compares_with(text: str, kinds: list[GroupVersionKind]) -> None:
    assert compared_kinds([_DEPLOYMENT], [text]) == kinds


@pytest.mark.parametrize(
    "text", ["Deployment/scale", "apps/v1/Deployment/scale", "Deployment.scale"]
)
def test_subresources_however_they_are_written(text: str) -> None:
    (found,) = subresources_of([text])
    assert (found.name, found.whole, found.operation) == ("scale", _DEPLOYMENT, "UPDATE")


def test_subresources_of_any_kind_are_passed_over() -> None:
    assert not subresources_of(["*/*/Pod/eviction", "*/scale", "Pod"])
