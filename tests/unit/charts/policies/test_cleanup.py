"""Policies that delete on a schedule, in both forms, as the policies' chart writes them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.errors import InputError, RenderError
from chartkit.helm.render import RenderedChart, render_chart
from chartkit.model import Body, Resource
from chartkit.scan.policies import compile_all
from chartkit.scan.verdicts import judge
from tests.data import beside, from_table
from tests.unit.project.project_files import write_policy, write_profile, write_project

_TEXTS = beside(__file__)
PLAIN = _TEXTS["plain"]
CEL = _TEXTS["cel"]
MORE = """\
parameters:
  schedule: {type: string, default: "0 3 * * *", description: When.}
"""
FORMS = ("ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy")
KINDS = ("ClusterCleanupPolicy", "DeletingPolicy", "ClusterCleanupPolicy")


def make(root: Path, policy: str = PLAIN, cel: str = CEL, minimum: str = "1.12") -> ChartPlan:
    folder = write_policy(root / "ours", "own/sweep", policy, minimum, MORE)
    (folder / "cel.yaml").write_text(cel)
    write_profile(root / "ours.yaml", "policies: {own/sweep: {}}")
    project = write_project(
        root,
        "library: [ours]\nprofiles: [./ours.yaml]\n"
        'environments:\n  prd: {kubernetes: "1.34", kyverno: "1.19"}\n',
    )
    return plan(project)


@cache
def chart() -> ChartPlan:
    with TemporaryDirectory() as place:
        return make(Path(place))


def render(policy_type: str, **values: object) -> RenderedChart:
    return render_chart(chart(), [{"policyType": policy_type, **values}], namespace="here")


def policy(policy_type: str, **values: object) -> Resource:
    (found,) = (
        each for each in render(policy_type, **values).resources if each.kind != "ClusterRole"
    )
    return found


def pod(name: str, namespace: str = "default", labels: Mapping[str, str] | None = None) -> Body:
    metadata = {"name": name, "namespace": namespace, "labels": labels or {"temporary": "true"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def deleted(rendered: Resource, *objects: Body) -> list[str]:
    """The names of the objects that the policy deletes."""
    compiled = compile_all([rendered])
    assert not compiled.diagnostics
    verdicts = [judge(compiled.policies, compiled.cleanup, Resource(one)) for one in objects]
    assert not any(verdict.error for verdict in verdicts)
    return [
        one["metadata"]["name"]
        for one, verdict in zip(objects, verdicts, strict=True)
        if verdict.acts
    ]


@pytest.mark.parametrize(("policy_type", "kind"), [*zip(FORMS, KINDS, strict=True)])
def test_each_form_deletes_the_same(policy_type: str, kind: str) -> None:
    found = policy(policy_type)
    assert found.kind == kind
    assert found.body["spec"]["schedule"] == "0 3 * * *"
    assert found.body["spec"]["deletionPropagationPolicy"] == "Foreground"
    assert deleted(found, pod("a"), pod("b", labels={"x": "y"})) == ["a"]


@pytest.mark.parametrize("policy_type", FORMS[:2])
def test_values_reach_it(policy_type: str) -> None:
    own = {"parameters": {"schedule": "@daily"}, "labels": {"team": "a"}}
    found = policy(policy_type, policies={"sweep": own}, customAnnotations={"note": "b"})
    assert found.body["spec"]["schedule"] == "@daily"
    assert found.body["metadata"]["labels"]["team"] == "a"
    assert found.body["metadata"]["annotations"]["note"] == "b"
    assert found.namespace == ""


@pytest.mark.parametrize(
    ("policy_type", "kind"), [(FORMS[0], "CleanupPolicy"), (FORMS[1], "NamespacedDeletingPolicy")]
)
def test_of_one_namespace(policy_type: str, kind: str) -> None:
    found = policy(policy_type, policyKind="Policy")
    assert (found.kind, found.namespace) == (kind, "here")


@pytest.mark.parametrize("policy_type", FORMS[:2])
@from_table("resources", "expected")
def test_exclusions_keep_objects(policy_type: str, resources: Body, expected: list[str]) -> None:
    found = policy(policy_type, exclude={"any": [{"resources": resources}]})
    kept = {"temporary": "true", "keep": "1"}
    objects = (pod("a"), pod("b", "kube-system"), pod("c", labels=kept))
    assert deleted(found, *objects) == expected


@pytest.mark.parametrize("policy_type", FORMS[:2])
@pytest.mark.parametrize(
    ("excluded", "said"),
    [
        ({"subjects": [{"kind": "User", "name": "x"}]}, "knows of no user"),
        ({"resources": {"kinds": ["Pod"], "operations": ["CREATE"]}}, "looks at no request"),
    ],
)
def test_exclusions_of_requests_are_refused(policy_type: str, excluded: Body, said: str) -> None:
    with pytest.raises(RenderError, match=said):
        policy(policy_type, exclude={"any": [excluded]})


def test_conditions_add_up() -> None:
    named = {"all": [{"key": "{{ target.metadata.name }}", "operator": "Equals", "value": "b"}]}
    found = policy(FORMS[0], policyPreconditions={"sweep": named})
    assert deleted(found, pod("a"), pod("b")) == ["b"]
    condition = {"name": "named", "expression": "object.metadata.name == 'b'"}
    found = policy(FORMS[1], policyMatchConditions={"sweep": [condition]})
    assert deleted(found, pod("a"), pod("b")) == ["b"]


def test_background_requests_are_no_deletions() -> None:
    found = policy(FORMS[1], skipBackgroundRequests=True)
    assert "request" not in str(found.body["spec"]["conditions"])


@pytest.mark.parametrize("policy_type", FORMS)
def test_the_cleanup_controller_may(policy_type: str) -> None:
    (role,) = (each for each in render(policy_type).resources if each.kind == "ClusterRole")
    assert "rbac.kyverno.io/aggregate-to-cleanup-controller" in role.body["metadata"]["labels"]
    assert role.body["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "list"]}
    ]


@from_table("old", "new", "minimum", "said")
def test_wrong_ones_are_refused(
    tmp_path: Path, old: str, new: str, minimum: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        make(tmp_path, PLAIN.replace(old, new), minimum=minimum)


def test_forms_of_different_purposes_are_refused(tmp_path: Path) -> None:
    cel = CEL.replace("DeletingPolicy", "MutatingPolicy")
    with pytest.raises(InputError, match="is a ClusterCleanupPolicy, and in CEL a MutatingPolicy"):
        make(tmp_path, cel=cel)
