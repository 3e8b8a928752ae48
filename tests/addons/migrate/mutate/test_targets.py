"""Rules that change existing objects stay: a MutatingPolicy changes them at other times."""

from __future__ import annotations

import pytest

from tests.addons.migrate.conversions import converted

_TARGETS = "targets: [{apiVersion: v1, kind: Secret, name: s, namespace: default}]"


@pytest.mark.parametrize(
    "patch",
    [
        "patchStrategicMerge: {metadata: {labels: {a: b}}}",
        "patchStrategicMerge: {metadata: {labels: {a: '{{ request.object.metadata.name }}'}}}",
    ],
)
def test_rules_with_targets_stay(patch: str) -> None:
    found = converted(f"mutate: {{{_TARGETS}, {patch}}}")
    assert found.documents == ()
    assert "whether or not a trigger is there" in found.reason
