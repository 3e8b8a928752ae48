"""What a Pod has of its service account."""

from typing import Any

import pytest

from chartkit.model import Body, Resource
from chartkit.scan.api_defaults import all_as_stored

PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def pod(namespace: str | None = None, **spec: Any) -> Resource:
    metadata = {"name": "shop"} if namespace is None else {"name": "shop", "namespace": namespace}
    spec = {"containers": [{"name": "shop", "image": "shop:1"}], **spec}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def account(name: str, namespace: str | None = None, **fields: Any) -> Resource:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return Resource({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, **fields})


def mounts(stored: Resource) -> list[list[str]]:
    """The places that each container mounts the token at."""
    spec: Body = stored.body["spec"]
    return [
        [one["name"] for one in container.get("volumeMounts", []) if one["mountPath"] == PATH]
        for container in spec.get("initContainers", []) + spec["containers"]
    ]


NO_TOKEN: Any = {"automountServiceAccountToken": False}
TOKEN: Any = {"automountServiceAccountToken": True}


@pytest.mark.parametrize(
    ("given", "accounts", "mounted"),
    [
        (pod(), [], True),
        (pod(**NO_TOKEN), [], False),
        (pod(), [account("default", **NO_TOKEN)], False),
        (pod(), [account("default", "default", **NO_TOKEN)], False),
        (pod(**TOKEN), [account("default", **NO_TOKEN)], True),
        (pod(), [account("default", "elsewhere", **NO_TOKEN)], True),
        (pod("shop"), [account("default", "shop", **NO_TOKEN)], False),
        (pod(serviceAccount="old"), [account("old", **NO_TOKEN)], False),
        (pod(serviceAccountName="own"), [account("default", **NO_TOKEN)], True),
    ],
    ids=[
        "unknown-account",
        "pod-rules-it-out",
        "account-rules-it-out",
        "account-with-namespace",
        "pod-wins",
        "account-of-another-namespace",
        "both-in-a-namespace",
        "deprecated-field",
        "another-account",
    ],
)
def test_the_token_is_mounted_unless_pod_or_account_rule_it_out(
    given: Resource, accounts: list[Resource], mounted: bool
) -> None:
    stored = all_as_stored([given, *accounts])[0]
    assert mounts(stored) == [["kube-api-access-xxxxx"] if mounted else []]
    assert ("volumes" in stored.body["spec"]) is mounted


def test_a_container_that_mounts_something_there_keeps_it() -> None:
    containers = [
        {"name": "one", "volumeMounts": [{"name": "mine", "mountPath": PATH}]},
        {"name": "two"},
    ]
    given = pod(containers=containers, volumes=[{"name": "mine", "emptyDir": {}}])
    stored = all_as_stored([given])[0]
    assert mounts(stored) == [["mine"], ["kube-api-access-xxxxx"]]
    names = [volume["name"] for volume in stored.body["spec"]["volumes"]]
    assert names == ["mine", "kube-api-access-xxxxx"]


def test_a_volume_of_a_stored_pod_is_used() -> None:
    given = pod(volumes=[{"name": "kube-api-access-abcde", "projected": {"sources": []}}])
    stored = all_as_stored([given])[0]
    assert mounts(stored) == [["kube-api-access-abcde"]]
    assert len(stored.body["spec"]["volumes"]) == 1


def test_a_mirror_pod_has_no_account() -> None:
    given = pod()
    given.body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "1"}
    stored = all_as_stored([given])[0]
    assert "serviceAccountName" not in stored.body["spec"]
    assert mounts(stored) == [[]]


def test_pull_secrets_are_the_accounts_where_the_pod_has_none() -> None:
    secrets = account("default", imagePullSecrets=[{"name": "of-account"}])
    stored = all_as_stored([pod(), pod(imagePullSecrets=[{"name": "own"}]), secrets])
    found = [one.body["spec"]["imagePullSecrets"] for one in stored[:2]]
    assert found == [[{"name": "of-account"}], [{"name": "own"}]]
