"""Kinds of Kubernetes' own groups that no API server has."""

from __future__ import annotations

import pytest

from chartkit.model import Resource
from chartkit.scan.ineffective import overlooked


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("apps/v1", "Deploymnt", "did you mean 'Deployment'?"),
        ("apps/v1beta1", "Deployment", "it is in apps/v1"),
        ("extensions/v1beta1", "Ingress", "it is in networking.k8s.io/v1"),
        ("batch/v1beta1", "CronJob", "it is in batch/v1"),
        ("v1", "Deployment", "it is in apps/v1"),
        ("apps/v1", "Widget", None),
    ],
)
def test_an_unknown_or_removed_kind_is_a_warning(
    api_version: str, kind: str, hint: str | None
) -> None:
    (row,) = overlooked([Resource({"apiVersion": api_version, "kind": kind})], False)
    assert row.message == f"no API server has {kind} in {api_version}"
    assert (row.severity, row.hint) == ("warning", hint)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("example.com/v1", "Deploymnt"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"),
        ("autoscaling/v1", "HorizontalPodAutoscaler"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Config"),
        ("v1", "List"),
    ],
)
def test_other_kinds_are_not_named(api_version: str, kind: str) -> None:
    assert not list(overlooked([Resource({"apiVersion": api_version, "kind": kind})], False))


def test_a_field_that_its_kind_does_not_have_is_a_warning_at_its_place() -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "spec": {"hostNetwok": True, "hostPID": "true"}}
    unknown, wrong = overlooked([Resource(body)], False)
    assert unknown.message == "spec.hostNetwok is not a field of Kubernetes 1.37"
    assert (unknown.severity, unknown.hint) == ("warning", "did you mean 'hostNetwork'?")
    assert wrong.message == "spec.hostPID is a string, must be a boolean"
