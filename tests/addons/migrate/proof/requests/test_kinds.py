"""The kinds that proofs ask about."""

import pytest

from chartkit.addons.migrate.proof.requests.schema import compared_kinds
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
