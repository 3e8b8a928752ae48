"""`chartkit exceptions write`: suppressions become PolicyExceptions that do the same."""

import json
from pathlib import Path

import pytest
import yaml

from tests.data import beside, from_table
from tests.e2e.command import chartkit
from tests.e2e.test_gate import POLICIES, pod, suppress

SUPPRESSION = suppress("- policy: POLICY\n  reason: It is an agent.\n  until: 2999-12-31\n")
DEPLOYMENT = beside(__file__)["deployment"]


def scan(folder: Path, *options: str) -> dict[str, str]:
    """Return the result for each object."""
    done = chartkit(folder, "scan", "objects.yaml", "-o", "json", "--no-suppressions", *options)
    results = json.loads(done.out)["results"]
    return {
        each["resource"]: each["result"]
        for each in results
        if "privileged" in each["policy"] and each["result"] != "pass"
    }


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ClusterPolicy", "ValidatingPolicy"])
def test_exceptions_let_the_same_objects_off(tmp_path: Path, form: str) -> None:
    policy = "disallow-privileged-containers"
    annotations = SUPPRESSION.replace("POLICY", policy)
    objects = (
        DEPLOYMENT.replace("ANNOTATIONS", annotations),
        pod("a-5d4f-x2k"),
        pod("a", namespace="other"),
        pod("b"),
    )
    (tmp_path / "objects.yaml").write_text("---\n".join(objects))
    options = ("-p", "pss-baseline", "--policy-type", form)
    written = chartkit(tmp_path, "exceptions", "write", "objects.yaml", *options)
    assert written.code == 0, written.err
    (tmp_path / "exceptions.yaml").write_text(written.out)
    (body,) = yaml.safe_load_all(written.out)
    assert body["metadata"]["namespace"] == "kyverno"
    assert body["metadata"]["labels"] == {"cleanup.kyverno.io/ttl": "3000-01-01"}
    assert body["metadata"]["annotations"] == {"chartkit.dev/reason": "It is an agent."}
    before = scan(tmp_path, *options)
    assert set(before.values()) == {"fail"}
    assert len(before) == 4
    after = scan(tmp_path, *options, "--exceptions", "exceptions.yaml")
    assert {name for name, result in after.items() if result == "fail"} == {
        "v1/Pod/other/a",
        "v1/Pod/shop/b",
    }


def test_one_rule_is_excepted(tmp_path: Path) -> None:
    (tmp_path / "policies.yaml").write_text(POLICIES)
    text = "- {policy: require-team, rule: team, reason: x}\n"
    (tmp_path / "pod.yaml").write_text(pod("a", annotations=suppress(text)))
    done = chartkit(
        tmp_path, "exceptions", "write", "pod.yaml", "-p", "policies.yaml", "--into", "shop"
    )
    assert done.code == 0
    (body,) = yaml.safe_load_all(done.out)
    assert body["metadata"]["namespace"] == "shop"
    assert body["spec"] == {
        "exceptions": [{"policyName": "require-team", "ruleNames": ["team"]}],
        "match": {
            "any": [{"resources": {"kinds": ["v1/Pod"], "namespaces": ["shop"], "names": ["a"]}}]
        },
    }


@from_table("text", "code", "message")
def test_what_no_exception_stands_for_is_named(
    tmp_path: Path, text: str | None, code: int, message: str
) -> None:
    (tmp_path / "policies.yaml").write_text(POLICIES)
    annotations = "" if text is None else suppress(text)
    (tmp_path / "pod.yaml").write_text(pod("a", annotations=annotations))
    done = chartkit(tmp_path, "exceptions", "write", "pod.yaml", "-p", "policies.yaml")
    assert (done.code, done.out) == (code, "")
    assert message in done.line


def test_policies_of_the_api_server_have_no_exceptions(tmp_path: Path) -> None:
    text = "- {policy: disallow-privileged-containers, reason: x}\n"
    (tmp_path / "pod.yaml").write_text(pod("a", annotations=suppress(text)))
    options = ("-p", "pss-baseline", "--policy-type", "ValidatingAdmissionPolicy")
    done = chartkit(tmp_path, "exceptions", "write", "pod.yaml", *options)
    assert done.code == 1
    assert "is not Kyverno's (the API server runs it: narrow its binding)" in done.err
