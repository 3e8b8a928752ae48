"""Known faults of Kyverno's releases: named where a policy and the release that runs have one."""

from __future__ import annotations

from pathlib import Path

import pytest

from chartkit.kyverno.known_faults import known_faults, running_release
from chartkit.kyverno.releases import current
from chartkit.kyverno.versions import Release, parse_release
from chartkit.model import Resource
from chartkit.render.model import Outcome, Row
from tests.unit.render.test_pipeline import rows, run

SYNCHRONIZED = ("add-namespace-quota", "generate-pod-disruption-budget")
PROJECT = """\
profiles: [./tenants.yaml]
environments:
  dev: {kyverno: "%s", kubernetes: "1.35", engine: %s, policyType: %s}
"""
TENANTS = """\
apiVersion: chartkit.dev/v1
kind: Profile
metadata: {name: tenants}
spec:
  title: tenants
  policies: {add-namespace-quota: {}, generate-pod-disruption-budget: {}, disallow-host-path: {}}
"""


def found(
    folder: Path, release: str, engine: bool = False, form: str = "ValidatingPolicy"
) -> list[Row]:
    (folder / "tenants.yaml").write_text(TENANTS)
    project = PROJECT % (release, str(engine).lower(), form)
    (folder / "chartkit.yaml").write_text(project)
    return rows(run(folder), "known faults")


def test_a_release_that_a_project_names(tmp_path: Path) -> None:
    faults = found(tmp_path, "1.19.0")
    assert [(row.outcome, row.message, row.hint) for row in faults] == [
        (
            Outcome.WARNING,
            f"GeneratingPolicy/{name}: Kyverno 1.19.0 deletes and re-creates every hour all that "
            "is generated",
            "1.19.1 does not: https://github.com/kyverno/kyverno/issues/17594",
        )
        for name in SYNCHRONIZED
    ]
    assert str(faults[0].location).startswith(f"{tmp_path}/chartkit.yaml:3:9")
    assert found(tmp_path, "1.19.1") == []
    assert found(tmp_path, "1.19.0", form="ClusterPolicy") == []


def test_an_image_goes_before_what_a_project_names(tmp_path: Path) -> None:
    assert found(tmp_path, str(current().version), engine=True) == []
    values = tmp_path / "charts" / "kyverno" / "values_dev.yaml"
    values.write_text("backgroundController:\n  image:\n    tag: v1.19.0\n")
    faults = found(tmp_path, str(current().version), engine=True)
    assert len(faults) == len(SYNCHRONIZED)
    assert {str(row.location).rpartition("/values_dev.yaml")[1] for row in faults} == {
        "/values_dev.yaml"
    }


def test_faults_are_data_that_holds() -> None:
    for fault in known_faults():
        assert fault.since < fault.fixed
        assert fault.source.startswith("https://")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("1.19.0", Release(1, 19, 0)),
        ("v1.19.0-fips", Release(1, 19, 0)),
        ("v1.19.0-rc.1", None),
        ("1.19", None),
        ("latest", None),
        (None, None),
    ],
)
def test_known_faults_releases(text: object, release: Release | None) -> None:
    assert parse_release(text) == release


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("reg.example:5000/kyverno/background-controller:v1.19.0", Release(1, 19, 0)),
        ("reg.example:5000/background-controller:v1.19.0@sha256:12", Release(1, 19, 0)),
        ("reg.example:5000/kyverno/background-controller", None),
        ("background-controller@sha256:12", None),
    ],
)
def test_the_image_says_what_runs(image: str, release: Release | None) -> None:
    labels = {"app.kubernetes.io/component": "background-controller"}
    pod = {"spec": {"containers": [{"name": "controller", "image": image}]}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", "labels": labels},
        "spec": {"template": pod},
    }
    assert running_release([Resource(body)], "background-controller") == release
    assert running_release([Resource(body)], "cleanup-controller") is None
