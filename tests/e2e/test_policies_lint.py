"""`chartkit policies lint`, `test` and `scan`: a mistake in a policy has one place everywhere."""

import json
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import chartkit
from tests.shared import ROOT

MATCH = "match: {any: [{resources: {kinds: [Pod]}}]}"
RULE = "    validate: {message: m, pattern: {metadata: {name: '?*'}}}\n"
CONDITION = beside(__file__)["condition"]


def cluster_policy(rule: str = RULE, spec: str = "", match: str = MATCH) -> str:
    return (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: broken\n"
        f"spec:\n{spec}  rules:\n  - name: r\n    {match}\n{rule}"
    )


def condition(key: str, operator: str = "Equals") -> str:
    return cluster_policy(CONDITION.replace("KEY", key).replace("OPERATOR", operator))


def cel(expression: str, resources: str = "[pods]", more: str = "") -> str:
    return (
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata:\n  name: broken\n"
        "spec:\n  matchConstraints:\n    resourceRules:\n"
        "    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], "
        f"resources: {resources}}}\n"
        f'{more}  validations:\n  - message: m\n    expression: "{expression}"\n'
    )


GOOD = cluster_policy()
MISTAKES = {
    "key of spec": (cluster_policy(spec="  validationFailureActoin: Audit\n"), "6:3"),
    "key of a rule": (cluster_policy(RULE.replace("validate", "valdate")), "9:5"),
    "key of validate": (cluster_policy(RULE.replace("pattern", "patern")), "9:28"),
    "kind": (cluster_policy(match=MATCH.replace("Pod", "Podd")), "8:40"),
    "kind of policy": (GOOD.replace("ClusterPolicy", "ClusterPolcy"), "2:1"),
    "group of policy": (GOOD.replace("kyverno.io/v1", "kyverno.oi/v1"), "1:1"),
    "action": (
        cluster_policy("    validate: {failureAction: Enforced, message: m, pattern: {}}\n"),
        "9:16",
    ),
    "operator": (condition("request.object.metadata.name", "Equalz"), "15:13"),
    "JMESPath": (condition("request.object.metadata.name["), "14:51"),
    "JMESPath function": (condition("lenght(request.object.metadata.name)"), "14:22"),
    "field of a request": (condition("request.objekt.metadata.name"), "14:30"),
    "key of conditions": (
        condition("request.object.metadata.name").replace("  any:", "  anyy:"),
        "13:11",
    ),
    "undefined variable": (condition("nmae"), "14:22"),
    "CEL syntax": (cel("object.metadata.name =="), "11:41"),
    "undeclared name of CEL": (cel("objct.metadata.name == 'a'"), "11:18"),
    "type of CEL": (cel("size(object.metadata.name) == 'a'"), "11:45"),
    "function of CEL": (cel("object.metadata.name.startWith('a')"), "11:48"),
    "variable of CEL": (
        cel("variables.nam == 'a'", more="  variables: [{name: name, expression: '1'}]\n"),
        "12:27",
    ),
    "field of CEL": (cel("object.spec.containrs.size() > 0"), "11:30"),
    "resource": (cel("true", "[pod]"), "8:78"),
    "key of a CEL policy": (cel("true", more="  variable: []\n"), "9:3"),
    "version": (cel("true").replace("kyverno.io/v1", "kyverno.io/v1alpha9"), "1:1"),
    "YAML": ("apiVersion: v1\nkind: [\n", "3:1"),
}
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: a}]}\n"
)
TEST = beside(__file__)["test"]


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_has_one_place_in_every_command(tmp_path: Path, name: str) -> None:
    text, place = MISTAKES[name]
    (tmp_path / "policy.yaml").write_text(text)
    (tmp_path / "pod.yaml").write_text(POD)
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kyverno-test.yaml").write_text(TEST)
    lint = chartkit(tmp_path, "policies", "lint", "policy.yaml", "--strict")
    assert lint.code == (2 if "error unread: " in lint.out else 1)
    scan = chartkit(tmp_path, "scan", "pod.yaml", "-p", "policy.yaml")
    test = chartkit(tmp_path, "test", ".")
    for output in (lint.out, scan.err, test.out):
        lines = [line for line in output.splitlines() if f"policy.yaml:{place}: " in line]
        assert len(lines) == (2 if name == "YAML" and output == test.out else 1), output


def test_lint_passes_what_is_good(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(GOOD)
    done = chartkit(tmp_path, "policies", "lint", ".", "--strict")
    assert (done.code, done.out) == (0, "1 policy checked: 0 errors, 0 warnings\n")


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    for name in ("YAML", "kind", "JMESPath"):
        text = MISTAKES[name][0].replace("apiVersion: v1", "apiVersion: kyverno.io/v1")
        (tmp_path / f"{name}.yaml").write_text(text)
    done = chartkit(tmp_path, "policies", "lint", ".")
    assert done.code == 2
    assert done.out.endswith("2 policies checked: 2 errors, 1 warning\n")
    body = json.loads(chartkit(tmp_path, "policies", "lint", ".", "-o", "json").out)
    assert {each["severity"] for each in body["findings"]} == {"error", "warning"}
    annotations = chartkit(tmp_path, "policies", "lint", ".", "-o", "github").out
    assert "::error file=YAML.yaml,line=3,col=1,title=unread::" in annotations


def test_what_names_no_policy_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(GOOD)
    for name in ("a", "b", "c"):
        (tmp_path / name / "templates").mkdir(parents=True)
        (tmp_path / name / "Chart.yaml").write_text(f"name: {name}\nversion: 1.0.0\n")
        (tmp_path / name / "templates" / "a.yaml").write_text("a: {{ .Values.b.c }}\n")
    done = chartkit(tmp_path, "policies", "lint", ".")
    assert done.code == 0
    [note, total] = done.out.splitlines()
    said = "note scan-input: names no policy, and is not read: Helm cannot render the chart: "
    assert note.startswith(f"a/templates/a.yaml:1:13: {said}")
    assert note.endswith(
        "2 more of the kind, such as b/templates/a.yaml:1:13 and c/templates/a.yaml:1:13 "
        "(-o json lists all)"
    )
    assert total == "1 policy checked: 0 errors, 0 warnings"
    (tmp_path / "policy.yaml").unlink()
    assert chartkit(tmp_path, "policies", "lint", ".").line.startswith(".: holds no policy")
    (tmp_path / "b/values.yaml").write_text("kyverno: {}\n")
    done = chartkit(tmp_path, "policies", "lint", ".")
    assert (done.code, done.out.count("error unread")) == (2, 1)


def test_a_library_of_the_own_format_is_checked_with_its_parameters(tmp_path: Path) -> None:
    policy = ROOT / "profiles" / "policies" / "baseline" / "disallow-host-ports"
    for path in (policy, policy / "policy.yaml"):
        done = chartkit(tmp_path, "policies", "lint", str(path))
        assert (done.code, done.out) == (0, "1 policy checked: 0 errors, 0 warnings\n")


@pytest.mark.parametrize(
    ("path", "message"),
    [("nope", "nope: no such file, folder or profile"), ("pod.yaml", "pod.yaml: holds no policy")],
)
def test_a_path_without_policies_is_an_error(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    done = chartkit(tmp_path, "policies", "lint", path)
    assert done.code == 2
    assert done.line.startswith(message)


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    text = cluster_policy(spec="  background: true\n  background: false\n")
    (tmp_path / "policy.yaml").write_text(text)
    done = chartkit(tmp_path, "policies", "lint", "policy.yaml")
    assert done.code == 0
    assert "policy.yaml:7:3: warning repeated-key: the key 'background' stands here" in done.out


SUBRESOURCE = cluster_policy(match="match: {any: [{resources: {kinds: [Pod/exec]}}]}")
NAMESPACED = cluster_policy(match="match: {any: [{resources: {kinds: [Namespace]}}]}")
NAMESPACED = NAMESPACED.replace("kind: ClusterPolicy", "kind: Policy").replace(
    "name: broken", "name: broken\n  namespace: shop"
)
EMPTY_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (SUBRESOURCE, "background scan enabled with subresource Pod/exec"),
        (NAMESPACED, "Cluster wide resource 'Namespace' not allowed in namespaced policy"),
    ],
)
def test_what_the_webhook_alone_refuses_is_an_error_for_authors(
    tmp_path: Path, policy: str, said: str
) -> None:
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "pod.yaml").write_text(EMPTY_POD)
    lint = chartkit(tmp_path, "policies", "lint", "policy.yaml")
    assert (lint.code, "error policy: " in lint.out, said in lint.out) == (1, True, True)
    scan = chartkit(tmp_path, "scan", "pod.yaml", "-p", "policy.yaml")
    assert (scan.code, "warning policy: " in scan.err, said in scan.err) == (0, True, True)
