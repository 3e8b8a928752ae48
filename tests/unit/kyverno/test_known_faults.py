"""Known faults of Kyverno's releases: named where a policy and the release that runs have one."""

from pathlib import Path

import pytest

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.kyverno.known_faults import known_faults, running_release
from chartkit.kyverno.matrix import matrix
from chartkit.kyverno.releases import current
from chartkit.kyverno.versions import Release, Version, parse_release
from chartkit.model import Body, Resource
from chartkit.render.model import Outcome, Row
from tests.data import beside
from tests.objects import api_object
from tests.unit.render.test_pipeline import rows, run

SYNCHRONIZED = ("add-namespace-quota", "generate-pod-disruption-budget")
PROJECT = """\
profiles: [./tenants.yaml]
environments:
  dev: {kyverno: "%s", kubernetes: "1.35", engine: %s, policyType: %s}
"""
TENANTS = beside(__file__)["tenants"]


def found(
    folder: Path, release: str, engine: bool = False, form: str = "ValidatingPolicy"
) -> list[Row]:
    (folder / "tenants.yaml").write_text(TENANTS)
    project = PROJECT % (release, str(engine).lower(), form)
    (folder / "chartkit.yaml").write_text(project)
    return rows(run(folder), "known faults")


@pytest.mark.slow
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


@pytest.mark.slow
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
    names = [fault.name for fault in known_faults()]
    assert len(names) == len(set(names))
    for fault in known_faults():
        assert fault.source.startswith("https://")
        assert fault.policies is not None or fault.exposure
        for each in fault.affected:
            for release in filter(None, (each.since, each.fixed)):
                known = matrix()[Version(release.major, release.minor)]
                assert release in known.charts
            if each.since and each.fixed:
                assert each.since < each.fixed


RULE = {"name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}
CONTEXT = [{"name": "c", "apiCall": {"service": {"url": "https://a"}, "method": "GET"}}]


def policy(kind: str, group: str, spec: Body) -> Resource:
    return Resource(
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "p"}, "spec": spec}
    )


@pytest.mark.parametrize(
    ("name", "concerned", "other"),
    [
        (
            "CVE-2026-41323",
            policy("ClusterPolicy", "kyverno.io", {"rules": [{**RULE, "context": CONTEXT}]}),
            policy("ClusterPolicy", "kyverno.io", {"rules": [{**RULE, "context": []}]}),
        ),
        (
            "CVE-2026-41323",
            policy("GlobalContextEntry", "kyverno.io", {"apiCall": {"service": {"url": "x"}}}),
            policy("GlobalContextEntry", "kyverno.io", {"apiCall": {"urlPath": "/api"}}),
        ),
        (
            "CVE-2025-29778",
            policy(
                "ClusterPolicy",
                "kyverno.io",
                {
                    "rules": [
                        {
                            "verifyImages": [
                                {
                                    "attestors": [
                                        {"entries": [{"keyless": {"subjectRegExp": "https://.*"}}]}
                                    ]
                                }
                            ]
                        }
                    ]
                },
            ),
            policy(
                "ClusterPolicy",
                "kyverno.io",
                {
                    "rules": [
                        {
                            "verifyImages": [
                                {
                                    "attestors": [
                                        {"entries": [{"keyless": {"subject": "https://a"}}]}
                                    ]
                                }
                            ]
                        }
                    ]
                },
            ),
        ),
        (
            "CVE-2025-46342",
            policy(
                "Policy",
                "kyverno.io",
                {"rules": [{"match": {"any": [{"resources": {"namespaceSelector": {}}}]}}]},
            ),
            policy("Policy", "kyverno.io", {"rules": [RULE]}),
        ),
        (
            "kyverno/kyverno#17260",
            policy(
                "NamespacedValidatingPolicy",
                "policies.kyverno.io",
                {"matchConstraints": {"resourceRules": [{"resources": ["services", "pods"]}]}},
            ),
            policy(
                "NamespacedValidatingPolicy",
                "policies.kyverno.io",
                {"matchConstraints": {"resourceRules": [{"resources": ["services"]}]}},
            ),
        ),
        (
            "kyverno/kyverno#16989",
            policy("PolicyException", "policies.kyverno.io", {}),
            policy("PolicyException", "kyverno.io", {}),
        ),
    ],
)
def test_a_fault_concerns_what_its_field_names(
    name: str, concerned: Resource, other: Resource
) -> None:
    (fault,) = [each for each in known_faults() if each.name == name]
    assert fault.concerns(concerned)
    assert not fault.concerns(other)


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("1.16.4", {"GHSA-q825-p383-r9v5", "kyverno/kyverno#16989"}),
        ("1.17.2", {"GHSA-q825-p383-r9v5", "kyverno/kyverno#16989", "kyverno/kyverno#17260"}),
        ("1.19.1", set()),
    ],
)
def test_patch_releases_count(release: str, names: set[str]) -> None:
    parsed = parse_release(release)
    assert parsed is not None
    faults = [each for each in known_faults() if each.is_in(parsed) and each.fixed_in(parsed)]
    assert {each.name for each in faults} == names
    before = Release(parsed.major, parsed.minor, parsed.patch - 1)
    assert {each.name for each in known_faults() if each.is_in(before)} - names


@pytest.mark.slow
def test_an_advisory_that_no_policy_of_the_project_meets(tmp_path: Path) -> None:
    found(tmp_path, "1.18.1", form="ClusterPolicy")
    advisories = rows(run(tmp_path), "advisories")
    (row,) = [each for each in advisories if "CVE-2026-54523, critical" in each.message]
    assert row.outcome is Outcome.WARNING
    assert "those who may create policies can create objects in any namespace" in row.message
    assert str(row.hint).startswith("1.18.2 does not: https://")
    assert rows(run(tmp_path), "known faults") == []


@pytest.mark.slow
def test_a_policy_that_meets_an_advisory_is_named(tmp_path: Path) -> None:
    found(tmp_path, "1.17.1", form="ClusterPolicy")
    folder = tmp_path / "own"
    folder.mkdir()
    rule = {**RULE, "context": CONTEXT, "validate": {"message": "m", "deny": {}}}
    text = dump_yaml(policy("ClusterPolicy", "kyverno.io", {"rules": [rule]}).body)
    (folder / "p.yaml").write_text(text)
    project = (tmp_path / "chartkit.yaml").read_text()
    (tmp_path / "chartkit.yaml").write_text(
        f"library: [own]\npolicies: {{p: {{enabled: true}}}}\n{project}"
    )
    faults = rows(run(tmp_path), "known faults")
    assert [row.message for row in faults] == [
        "ClusterPolicy/p: Kyverno 1.17.1 sends the token of its ServiceAccount to the service that "
        "is called (CVE-2026-41323, high)"
    ]


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
    body = api_object(
        "apps/v1", "Deployment", {"name": "x", "labels": labels}, spec={"template": pod}
    )
    assert running_release([Resource(body)], "background-controller") == release
    assert running_release([Resource(body)], "cleanup-controller") is None
