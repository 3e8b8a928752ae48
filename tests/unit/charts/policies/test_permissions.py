"""The ClusterRoles and ConfigMaps of the policies' chart, as Helm renders them."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chartkit.charts.engine.chart import plan as engine_plan
from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.charts.rbac.requirements import Controller
from chartkit.errors import ChartkitError
from chartkit.helm.render import RenderedChart, dry_run, render_chart
from chartkit.model import Body
from tests.data import beside, from_table
from tests.unit.project.project_files import write_policy, write_profile, write_project

_TEXTS = beside(__file__)

MATCH = "      match: {any: [{resources: {kinds: [%s]}}]}\n"
HEAD = (
    "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n  rules:\n"
    "    - name: one\n"
)
COPY = (
    HEAD % "copy"
    + MATCH % "Namespace"
    + """\
      generate:
        apiVersion: <%= parameter("version") %>
        kind: <%= parameter("kind") %>
        name: copy
        namespace: "{{ request.object.metadata.name }}"
        synchronize: true
        clone: {namespace: default, name: copy}
"""
)
COPY_CEL = _TEXTS["copy-cel"]
ROLES = HEAD % "roles" + MATCH % "Role" + "      validate: {message: No., deny: {}}\n"
PODS = HEAD % "pods" + MATCH % "Pod" + "      validate: {message: No., deny: {}}\n"
PARAMETERS = _TEXTS["parameters"]


@cache
def chart() -> ChartPlan:
    with TemporaryDirectory() as place:
        root = Path(place)
        folder = write_policy(root / "ours", "own/copy", COPY, more=PARAMETERS)
        (folder / "cel.yaml").write_text(COPY_CEL)
        case = folder / "cases" / "other"
        case.mkdir(parents=True)
        (case / "parameters.yaml").write_text("version: example.com/v1\nkind: Widget\n")
        write_policy(root / "ours", "own/roles", ROLES)
        write_policy(root / "ours", "own/pods", PODS)
        write_profile(root / "ours.yaml", "policies: {own/copy: {}, own/roles: {}, own/pods: {}}")
        project = write_project(
            root,
            "library: [ours]\nprofiles: [./ours.yaml]\n"
            'environments:\n  prd: {kubernetes: "1.34", kyverno: "1.19"}\n',
        )
        return plan(project)


def render(policy_type: str = "ClusterPolicy", **values: object) -> RenderedChart:
    return render_chart(chart(), [{"policyType": policy_type, **values}], release="ours")


def roles(rendered: RenderedChart) -> dict[str, list[str]]:
    """By the controller of their labels, the rules of the ClusterRoles."""
    found: dict[str, list[str]] = {}
    for each in rendered.resources:
        if each.kind == "ClusterRole":
            label = next(
                name for name in each.body["metadata"]["labels"] if name.startswith("rbac.kyverno")
            )
            controller = label.removeprefix("rbac.kyverno.io/aggregate-to-")
            assert each.name == f"ours:policies:{controller}"
            found[controller] = [text(rule) for rule in each.body["rules"]]
    return found


def text(rule: Body) -> str:
    return f"{rule['apiGroups'][0]}/{rule['resources'][0]} {','.join(rule['verbs'])}"


READ_ROLES = ["rbac.authorization.k8s.io/roles get,list,watch"]


def test_roles_have_what_the_installed_policies_need() -> None:
    assert roles(render()) == {
        "admission-controller": ["/secrets get,list", "example.com/widgets get,list"],
        "background-controller": [
            "/secrets create,delete,get,list,update",
            "example.com/widgets create,delete,get,list,update",
        ],
        "reports-controller": READ_ROLES,
    }


def test_each_form_has_its_own_needs() -> None:
    assert roles(render("ValidatingPolicy")) == {
        "background-controller": ["/secrets create,get,update"],
        "reports-controller": READ_ROLES,
    }


@from_table("values", "expected")
def test_values_decide_which_roles_there_are(values: Body, expected: list[str]) -> None:
    assert list(roles(render(**values))) == expected


def test_a_guess_is_told_where_it_stands() -> None:
    (role,) = (
        each for each in render().texts.items() if each[0].endswith("templates/permissions.yaml")
    )
    assert role[1].count("# 'widgets' is what Kubernetes would guess for kind Widget.") == 2
    assert "'secrets'" not in role[1]


def test_the_engines_roles_gather_them() -> None:
    """Both charts speak of the same labels."""
    files = engine_plan({}, ">=1.30.0-0").files
    for controller in Controller:
        label = f'rbac.kyverno.io/aggregate-to-{controller}: "true"'
        assert label in files[f"templates/{controller}/rbac.yaml"]


def test_labels_are_the_charts() -> None:
    given = render(customLabels={"team": "a"}, configMaps=[{"namespace": "x", "name": "y"}])
    others = [each for each in given.resources if each.kind in ("ClusterRole", "ConfigMap")]
    assert len(others) == 4
    for each in others:
        assert each.body["metadata"]["labels"]["team"] == "a"
        assert each.body["metadata"]["labels"]["app.kubernetes.io/instance"] == "ours"


def test_config_maps_come_from_values() -> None:
    given = {"namespace": "a", "name": "teams", "data": {"list": '["x"]', "n": "1"}}
    (found,) = (each for each in render(configMaps=[given]).resources if each.kind == "ConfigMap")
    assert (found.namespace, found.name, found.body["data"]) == ("a", "teams", given["data"])


@from_table("given", "said")
def test_config_maps_that_are_refused(given: list[Body], said: str) -> None:
    with pytest.raises(ChartkitError, match=said):
        render(configMaps=given)


@pytest.mark.parametrize("policy_type", ["ClusterPolicy", "ValidatingPolicy"])
def test_notes_tell_what_refuses_nothing(policy_type: str) -> None:
    notes = dry_run(chart(), [{"policyType": policy_type}], kube_version="1.34").notes
    assert "Refusing nothing, they change, generate or delete (1):\n  copy\n" in notes + "\n"
    assert "Audit, a violation is reported (2):\n  pods\n  roles\n" in notes + "\n"
