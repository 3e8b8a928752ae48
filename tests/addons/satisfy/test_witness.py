"""Witnesses of built-in profiles, by the command and by the search."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner, Result

from chartkit.addons.satisfy.command import witness
from chartkit.addons.satisfy.fields import skeleton
from chartkit.addons.satisfy.witness import find
from chartkit.errors import InputError
from chartkit.scan.policies import PolicySet, compile_all, read_policies
from chartkit.scan.requests import Requests
from tests.data import beside

_TEXTS = beside(__file__)

KINDS = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
PROFILES = (
    *("pss-baseline", "pss-restricted", "best-practices", "eks-best-practices"),
    *("multi-tenancy", "supply-chain"),
)


@cache
def _policies(profile: str, form: str = "ClusterPolicy") -> PolicySet:
    return compile_all(read_policies(profile, {}, form, lambda _: None)[0])


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(witness, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["ClusterPolicy", "ValidatingPolicy"])
@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_has_a_witness_of_each_kind(profile: str, form: str, kind: str) -> None:
    found = find(Requests.of(_policies(profile, form), []), skeleton(kind), 5)
    assert found.witness is not None, found.left
    kubernetes_validate.validate(found.witness.body, "1.35", strict=True)
    assert not _unusual(found.witness.body)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_witness_of_admission_policies(profile: str) -> None:
    form = "ValidatingAdmissionPolicy"
    found = find(Requests.of(_policies(profile, form), []), skeleton("Deployment"), 5)
    assert found.witness is not None, found.left
    assert not _unusual(found.witness.body)


def _unusual(body: Any) -> bool:
    """Report whether an object has what few people write, or no container."""
    text = json.dumps(body)
    return '"os"' in text or '"hostUsers"' in text or '"image"' not in text


def test_a_witness_shows_the_rule_of_each_line(tmp_path: Path) -> None:
    result = _run("--kind", "Pod", "-p", "pss-restricted")
    assert result.exit_code == 0
    lines = {line.split("#")[0].strip(): line for line in result.output.splitlines()}
    wanted = lines["allowPrivilegeEscalation: false"]
    assert wanted.endswith("# disallow-privilege-escalation/privilege-escalation")
    assert "#" not in lines["image: registry.example/app:1.0"]
    file = tmp_path / "pod.yaml"
    file.write_text(result.output)
    found = find(Requests.of(_policies("pss-restricted"), []), skeleton("Pod"), 5).witness
    assert found is not None
    assert found.body == yaml.safe_load(result.output)


POLICIES = _TEXTS["policies"]


def _json(tmp_path: Path, text: str, *arguments: str) -> Any:
    file = tmp_path / "policies.yaml"
    file.write_text(text)
    result = _run("-p", str(file), "-o", "json", *arguments)
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.output)["witnesses"]


def test_json_has_the_place_of_each_want(tmp_path: Path) -> None:
    (found,) = _json(tmp_path, POLICIES, "--kind", "Namespace")
    assert found["object"]["metadata"]["labels"]["team"].startswith("a")
    (wanted,) = found["wants"]
    assert wanted["pointer"] == "/metadata/labels/team"
    (rule,) = wanted["rules"]
    assert (rule["policy"], rule["rule"]) == ("owned", "team")
    assert rule["location"].endswith("policies.yaml:10:37")


def test_mutations_are_applied_first(tmp_path: Path) -> None:
    (found,) = _json(tmp_path, POLICIES + _TEXTS["mutated"], "--kind", "Namespace")
    assert found["object"] == skeleton("Namespace").body


def test_lint_names_rules_that_exclude_each_other(tmp_path: Path) -> None:
    (found,) = _json(tmp_path, POLICIES + _TEXTS["conflict"], "--kind", "Namespace")
    assert found["object"] is None
    (conflict,) = found["conflicts"]
    assert [rule["policy"] for rule in conflict["rules"]] == ["owned", "unowned"]


def test_a_search_that_comes_to_no_end_says_so(tmp_path: Path) -> None:
    opaque = POLICIES.replace(
        'pattern: {metadata: {labels: {team: "a* | b*"}}}',
        'deny: {conditions: {any: [{key: "{{ to_upper(request.object.metadata.name) }}", '
        "operator: NotEquals, value: SHOP}]}}",
    )
    (found,) = _json(tmp_path, opaque, "--kind", "Namespace")
    assert (found["object"], found["conflicts"]) == (None, [])
    assert [each["rule"] for each in found["notDecided"]] == ["team"]


def test_a_search_may_start_from_a_file(tmp_path: Path) -> None:
    start = tmp_path / "start.yaml"
    start.write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {team: x, cost: '1'}}\n"
    )
    (found,) = _json(tmp_path, POLICIES, "--from", str(start))
    labels = found["object"]["metadata"]["labels"]
    assert labels["cost"] == "1"
    assert labels["team"][0] in "ab"


@pytest.mark.parametrize("arguments", [("--kind", "Foo"), ("--kind", "Pod", "--from", "x.yaml")])
def test_what_cannot_be_searched_is_refused(arguments: tuple[str, ...]) -> None:
    result = _run("-p", "pss-baseline", *arguments)
    assert isinstance(result.exception, InputError)


def test_policies_that_are_all_broken_have_no_witness(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(POLICIES.replace("message: team", "frob: 1"))
    result = _run("-p", str(broken), "--kind", "Namespace")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "frob" in result.stderr
