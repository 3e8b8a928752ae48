"""What reports say of policies and their mistakes; what a scan does not need is not loaded."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from chartkit.documents.yaml_dump import dump_documents
from chartkit.errors import ChartkitError, InputError, RenderError
from chartkit.model import Body, Json, Location, Resource, RuleResult, Severity, Status
from chartkit.report.model import ReportOptions
from chartkit.scan.policies import PolicySet, compile_all, load_policies
from chartkit.scan.run import ScanContext, run_scan
from tests.data import beside, from_table
from tests.unit.engine.cel_policies.policies import pod, validating
from tests.unit.library.upstream_files import CLUSTER_POLICY, vendored
from tests.unit.project.project_files import POLICY, write_policy, write_profile

_TEXTS = beside(__file__)


def with_rules(action: str) -> Resource:
    """A ClusterPolicy named `p` that no Pod passes."""
    rule: Body = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"message": "no", "failureAction": action, "deny": {}},
    }
    body: Body = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p", "annotations": {"policies.kyverno.io/severity": "low"}},
        "spec": {"rules": [rule]},
    }
    return Resource(body, Location("rules.yaml"))


def in_cel(action: str) -> Resource:
    """A ValidatingPolicy named `p` that no Pod passes."""
    annotations = {"policies.kyverno.io/severity": "high"}
    return validating(
        "false", metadata={"name": "p", "annotations": annotations}, validationActions=[action]
    )


def scanned(policies: PolicySet, *, audit_warn: bool = False) -> Sequence[RuleResult]:
    found: list[RuleResult] = []
    run_scan(
        policies.policies, [pod()], lambda _, results: found.extend(results),
        ScanContext(audit_warn=audit_warn),
    )  # fmt: skip
    return found


@pytest.mark.parametrize("order", [1, -1])
def test_policies_of_two_generations_may_have_one_name(order: int) -> None:
    policies = compile_all([with_rules("Enforce"), in_cel("Audit")][::order])
    options = ReportOptions(policies.facts())
    results = scanned(policies)
    assert {result.policy for result in results} == {"p"}
    said = {
        (result.rule, options.facts(result).severity, options.action(pod(), result))
        for result in results
    }
    assert said == {("r", "low", "Enforce"), ("", "high", "Audit")}


@pytest.mark.parametrize("order", [1, -1])
def test_only_the_one_that_audits_warns(order: int) -> None:
    policies = compile_all([with_rules("Enforce"), in_cel("Audit")][::order])
    statuses = {result.rule: result.status for result in scanned(policies, audit_warn=True)}
    assert statuses == {"r": Status.FAIL, "": Status.WARN}


PROFILE = _TEXTS["profile"]


@from_table("policy_type", "policy")
def test_a_profile_in_a_file(tmp_path: Path, policy_type: str, policy: str) -> None:
    (tmp_path / "ours.yaml").write_text(PROFILE)
    found = load_policies([str(tmp_path / "ours.yaml")], {}, policy_type=policy_type)
    assert found.policies[0].policy.id == policy


_PARAMETER = """\
parameters:
  prefix: {type: string, default: web, description: How its name begins.}
"""


def _project(root: Path) -> Path:
    """A project with a policy that has a parameter, a vendored one, and a profile of both."""
    text = POLICY.replace('"{name}*"', '<%= text("%s*", parameter("prefix")) %>')
    write_policy(root / "policies", "ours/require-name", text, more=_PARAMETER)
    vendored(root, "theirs", {"a/require-label": CLUSTER_POLICY})
    (root / "chartkit.yaml").write_text(
        'library: [policies]\nenvironments:\n  dev: {kyverno: "1.19", kubernetes: "1.35"}\n'
    )
    return write_profile(
        root / "profiles" / "mine.yaml",
        "policies: {ours/require-name: {}, theirs/a/require-label: {}}",
    )


def test_mistakes_of_a_profile_are_at_the_path_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(
        "apiVersion: chartkit.dev/v1\nkind: Profile\nmetadata: {name: own}\n"
        "spec:\n  title: Own\n  policies: {disallow-host-pth: {}}\n"
    )
    with pytest.raises(InputError, match=r"^own\.yaml:6:14: there is no policy"):
        load_policies(["own.yaml"], {})


def test_a_projects_profile_has_the_projects_policies(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    profile = _project(tmp_path)
    found = load_policies([str(profile)], {"prefix": "shop"})
    assert sorted(each.policy.name for each in found.policies) == ["require-label", "require-name"]
    assert "shop*" in str(found.policies[0].policy) + str(found.policies[1].policy)


@pytest.mark.parametrize("source", ["policies", "policies/ours/require-name/policy.yaml"])
@pytest.mark.parametrize(("given", "wanted"), [({}, "web*"), ({"prefix": "shop"}, "shop*")])
def test_a_librarys_policy_has_the_defaults_of_parameters_that_are_not_given(
    tmp_path: Path, source: str, given: dict[str, Json], wanted: str
) -> None:
    _project(tmp_path)
    found = load_policies([str(tmp_path / source)], given)
    (own,) = (each for each in found.policies if each.policy.name == "require-name")
    assert wanted in str(own.policy)
    assert str(own.policy.resource.location).endswith("require-name/policy.yaml:1")


_BOUND = _TEXTS["bound"]


@from_table("spec", "message")
def test_a_binding_that_is_none_is_an_error_at_its_place(
    tmp_path: Path, spec: str, message: str
) -> None:
    file = tmp_path / "bound.yaml"
    file.write_text(_BOUND + spec + "\n")
    [found] = load_policies([str(file)], {}).diagnostics
    assert found.message.endswith(message)
    assert found.severity is Severity.ERROR
    assert found.location is not None
    assert (found.location.file, found.location.line) == (str(file), 12 if spec else 9)


@pytest.mark.parametrize("policy", ["p", "elsewhere"])
def test_a_binding_of_a_policy_here_or_elsewhere_is_taken(tmp_path: Path, policy: str) -> None:
    file = tmp_path / "bound.yaml"
    file.write_text(f"{_BOUND}spec: {{policyName: {policy}, validationActions: [Deny]}}\n")
    assert load_policies([str(file)], {}).diagnostics == ()


def test_kinds_that_will_go_are_a_note_each_with_how_many_there_are(tmp_path: Path) -> None:
    """Not of a profile's: they have the form that was asked for."""
    bodies = [with_rules("Audit").body | {"metadata": {"name": name}} for name in ("a", "b")]
    cleanup: Body = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "c"},
        "spec": {"schedule": "* * * * *", "match": {"any": [{"resources": {"kinds": ["Job"]}}]}},
    }
    file, newer = tmp_path / "policies.yaml", tmp_path / "newer.yaml"
    file.write_text(dump_documents([*bodies, cleanup]))
    newer.write_text(dump_documents([in_cel("Audit").body]))
    found = load_policies([str(file), str(newer), "pss-baseline"], {}).deprecations
    assert [(each.severity, each.message.partition(" is ")[0]) for each in found] == [
        (Severity.NOTE, "2 policies: ClusterPolicy (kyverno.io)"),
        (Severity.NOTE, "1 policy: ClusterCleanupPolicy (kyverno.io)"),
    ]
    assert str(found[0].location) == f"{file}:1"
    assert load_policies([str(newer), "pss-baseline"], {}).deprecations == ()


_ADVICE = "You are matching on replicas but not including the scale subresource in the policy."


def test_advice_to_authors_is_there_once(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text(_TEXTS["replicas"].replace("NAME", name))
    found = load_policies([str(tmp_path)], {})
    assert [each.message for each in found.remarks] == [f"a and 2 more: {_ADVICE}"]
    assert [each.message for each in found.warnings] == [f"{n}: {_ADVICE}" for n in "abc"]


def test_advice_to_authors_is_not_for_those_who_use_a_profile() -> None:
    found = load_policies(["eks-best-practices"], {})
    assert any(_ADVICE in each.message for each in found.warnings)
    assert found.remarks == ()


def test_a_built_in_profile_needs_no_helm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RenderError("no Helm here")

    monkeypatch.setattr("chartkit.helm.backend.start", refuse)
    found = load_policies(["pss-baseline"], {})
    assert {each.policy.name for each in found.policies} >= {"disallow-privileged-containers"}
    for form in ("ValidatingPolicy", "ValidatingAdmissionPolicy", "both"):
        assert load_policies(["pss-baseline"], {"podSecurityVersion": "v1.24"}, policy_type=form)


def test_a_chart_that_cannot_be_rendered_is_a_row_beside_the_policies(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    dependency = "dependencies:\n  - {name: child, version: 1.0.0, repository: oci://h/c}\n"
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: c\nversion: 1.0.0\n{dependency}")
    (tmp_path / "policy.yaml").write_text(dump_documents([with_rules("Enforce").body]))
    policies = load_policies([str(tmp_path)], {})
    assert [policy.policy.name for policy in policies.policies] == ["p"]
    unread = [row for row in policies.diagnostics if row.rule_id == "unread"]
    assert ["child" in row.message for row in unread] == [True]


RULES = _TEXTS["rules"]
CEL = _TEXTS["cel"]

MISTAKES = [
    # Keys.
    (RULES, "      validate:", "      validat:", "25:7", "validate"),
    (RULES, "  rules:", "  rule:", "8:3", "rules"),
    (RULES, "  background:", "  backgroud:", "7:3", "background"),
    (RULES, "      match:", "      mach:", "10:7", "match"),
    (RULES, "- resources:", "- resource:", "12:13", "resources"),
    (RULES, "kinds:", "kind:", "13:15", "kinds"),
    (RULES, "          variable:", "          varible:", "18:11", "variable"),
    (RULES, "conditions:\n            any", "condition:\n            any", "28:11", "conditions"),
    (CEL, "resourceRules", "resourceRule", "8:5", "resourceRules"),
    (CEL, "      expression: >-", "      expresion: >-", "18:7", "expression"),
    # Values, kinds and groups.
    (RULES, ": Audit", ": Audti", "6:3", "Audit"),
    (RULES, "operator: Equals", "operator: Equal2", "23:13", "Equal"),
    (RULES, "operator: AnyIn", "operator: AnyInn", "36:17", "AnyIn"),
    (RULES, "- Pod\n", "- Podd\n", "14:19", "Pod"),
    (RULES, "- Deployment", "- apps/v1/Deploymnt", "15:19", "Deployment"),
    (RULES, "- Pod\n", "- pods\n", "14:19", "Pod"),
    (RULES, "kind: ClusterPolicy", "kind: ClusterPolcy", "2:1", "ClusterPolicy"),
    (RULES, "kyverno.io/v1", "kyvern.io/v1", "1:1", "kyverno.io"),
    (RULES, "kyverno.io/v1", "kyverno.io/v3", "1:1", "kyverno.io/v1"),
    (CEL, "kind: ValidatingPolicy", "kind: ValidatngPolicy", "2:1", "ValidatingPolicy"),
    (CEL, "policies.kyverno.io/v1", "policies.kyverno.io/v2", "1:1", "policies.kyverno.io/v1"),
    (CEL, "[Audit]", "[Audti]", "6:23", "Audit"),
    (CEL, "[pods]", "[pods, deployment]", None, None),
    (CEL, "[pods]", "[pods, pod]", "12:27", "pods"),
    (CEL, '[""]', '["", apps]', None, None),
    # JMESPath.
    (RULES, "teams.team || ''", "temas.team || ''", "30:26", "teams"),
    (RULES, "teams.team || ''", "teams.team ||", "30:39", None),
    (RULES, "teams.team || ''", "teams.team || ]", "30:40", None),
    (RULES, "'none') }}", "'none' }}", None, None),
    (RULES, "to_upper", "too_upper", "34:22", "to_upper"),
    (RULES, "{{ teams.x }}", "{{ temas.x }}", "37:35", "teams"),
    (RULES, ": {{ teams.team }}", ": {{ tems.team }}", "26:36", "teams"),
    # CEL.
    (CEL, "object.metadata", "object.metdata", "15:26", "metadata"),
    (CEL, "in variables.labels", "in variables.lables", "19:28", "labels"),
    (CEL, "variables.labels\n", "variables.labels &&& true\n", "19:38", None),
    (CEL, "< 9", "<> 9", "23:35", None),
    (CEL, "size(variables", "siz(variables", "23:14", "size"),
    (CEL, "'team' in variables.labels", "variables.labels.startWith('a')", "19:35", "startsWith"),
    (CEL, "variables.labels.team'", "variabls.labels.team'", "20:39", "variables"),
    (CEL, "'team' in variables.labels", "size(variables.labels)", "18:7", None),
]


@pytest.mark.parametrize(("policy", "right", "wrong", "place", "meant"), MISTAKES)
def test_a_policys_mistake_is_one_line_with_its_place(
    tmp_path: Path, policy: str, right: str, wrong: str, place: str | None, meant: str | None
) -> None:
    assert right in policy
    file = tmp_path / "policy.yaml"
    file.write_text(policy.replace(right, wrong, 1))
    try:
        found = load_policies([str(file)], {})
    except ChartkitError as error:
        texts = [str(error)]
    else:
        texts = [str(each) for each in (*found.diagnostics, *found.warnings)]
    if place is not None:
        assert [text.removeprefix(str(file)).split(": ")[0] for text in texts] == [f":{place}"]
        assert (f"did you mean '{meant}'?" in texts[0]) is (meant is not None)
        assert "did you mean" not in texts[0] or meant is not None


@pytest.mark.parametrize("policy", [RULES, CEL])
def test_policies_without_mistakes_are_without_diagnostics(tmp_path: Path, policy: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(policy)
    found = load_policies([str(file)], {})
    assert (found.diagnostics, found.warnings) == ((), ())


SCRIPT = """
import sys
import chartkit.scan.pipeline, chartkit.scan.policies, chartkit.scan.run
import chartkit.scan.user_inputs, chartkit.testing.runner
from chartkit.documents.reader import read_text, resources
compiled = chartkit.scan.policies.compile_all(resources(read_text(sys.argv[1])))
assert compiled.policies, compiled.diagnostics
print(sys.argv[2] in sys.modules)
"""
PATTERN = "{pattern: {spec: {hostIPC: false}}}"
RULE = "{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: %s}"
IMPORTS_POLICY = (
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [%s]}}"
)


def loads(module: str, validate: str) -> str:
    """Return whether a policy's compilation loads a module, as printed."""
    command = [sys.executable, "-c", SCRIPT, IMPORTS_POLICY % (RULE % validate), module]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_cel_is_loaded_when_a_policy_needs_it() -> None:
    assert loads("chartkit.engine.cel", PATTERN) == "False"
    assert loads("chartkit.engine.cel", "{cel: {expressions: [{expression: 'true'}]}}") == "True"


def test_the_client_of_registries_is_loaded_when_one_is_asked() -> None:
    assert loads("chartkit.network.registry.client", PATTERN) == "False"
