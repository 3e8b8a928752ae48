"""A policy's form in CEL is looked through when the library is read."""

from pathlib import Path

import pytest

from chartkit.errors import InputError, RenderError
from chartkit.kyverno import policy_fields
from chartkit.kyverno.policy_fields import extends_to_controllers
from chartkit.kyverno.versions import Version
from chartkit.library.policies import read_library
from chartkit.library.rendered import RenderedPolicy, read_templates
from chartkit.model import Body
from tests.unit.project.project_files import POLICY, write_policy

_HEAD = (
    "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: mine}\nspec:\n"
)
_PODS = (
    "  matchConstraints:\n    resourceRules:\n"
    '      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}\n'
)
_ONE = "  validations: [{message: no, expression: 'true'}]\n"


def _template(tmp_path: Path, cel: str, policy: str = POLICY) -> RenderedPolicy:
    folder = write_policy(tmp_path, "mine", policy)
    (folder / "cel.yaml").write_text(cel)
    (found,) = read_templates(list(read_library([tmp_path]).policies.values()))
    return found


def test_both_forms_are_read(tmp_path: Path) -> None:
    template = _template(tmp_path, _HEAD + _PODS + _ONE)
    assert template.cel_kind == "ValidatingPolicy"
    assert len(template.bodies) == len(template.cel_bodies) == 1
    assert extends_to_controllers(template.cel_bodies[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_HEAD.replace("/v1", "/v1beta1") + _ONE, "no such policy"),
        (_HEAD.replace("ValidatingPolicy", "NamespacedValidatingPolicy") + _ONE, "no such policy"),
        (_HEAD.replace("name: mine", "name: yours") + _ONE, "calls itself 'yours'"),
        (_HEAD + "  validations: []\n", "0 validations, and its ClusterPolicy has 1 rule"),
        (_HEAD + "  validations: [{message: no}]\n", "no validations with an expression"),
        (_HEAD + _ONE + "---\n" + _HEAD + _ONE, "1 ClusterPolicy and 2 in CEL"),
        ("", "1 ClusterPolicy and 0 in CEL"),
        (_HEAD + _PODS + _ONE.replace("true", "object.metadata.name != null"), "metadata.name"),
        (_HEAD + _PODS + _ONE.replace("true", 'has(object["spec"])'), "controllers do not get"),
        (_HEAD + _PODS + _ONE.replace("true", "object.?spec.hasValue()"), "controllers do not get"),
    ],
)
def test_cel_form_refusals(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        _template(tmp_path, text)
    assert message in str(raised.value)
    assert str(raised.value.location).startswith(str(tmp_path / "mine" / "cel.yaml"))


def test_a_mistake_in_the_template_has_its_file(tmp_path: Path) -> None:
    with pytest.raises((InputError, RenderError)) as raised:
        _template(tmp_path, _HEAD + "  x: <%= cel(parameter('none')) %>\n")
    assert "cel.yaml" in str(raised.value.location)


def test_other_resources_may_be_named(tmp_path: Path) -> None:
    text = _HEAD + _PODS.replace("pods", "services") + _ONE.replace("true", "object.metadata.name")
    assert not extends_to_controllers(_template(tmp_path, text).cel_bodies[0])


@pytest.mark.parametrize(
    ("kind", "spec", "version", "field"),
    [
        ("ValidatingPolicy", {"auditAnnotations": []}, "1.14", None),
        ("NamespacedValidatingPolicy", {}, "1.16", None),
        ("NamespacedMutatingPolicy", {}, "1.17", None),
        ("MutatingPolicy", {"evaluation": {"admission": {"enabled": True}}}, "1.15", None),
        ("MutatingPolicy", {"evaluation": {"mode": "JSON"}}, "1.17", "evaluation.mode"),
        ("MutatingPolicy", {"targetMatchConditions": []}, "1.19", "targetMatchConditions"),
        ("GeneratingPolicy", {"evaluation": {"skipBackgroundRequests": True}}, "1.15", None),
        ("GeneratingPolicy", {"generate": [{"template": {}}]}, "1.19", "generate[].template"),
        ("ImageValidatingPolicy", {"auditAnnotations": []}, "1.15", "auditAnnotations"),
    ],
)
def test_the_version_that_a_policy_needs(
    kind: str, spec: Body, version: str, field: str | None
) -> None:
    found, use = policy_fields.minimum_version({"kind": kind, "spec": spec})
    assert str(found) == version
    assert (use.field.text if use else None) == field


def test_the_tables_are_of_one_kind() -> None:
    plain = {kind.removeprefix(policy_fields.NAMESPACED) for kind in policy_fields.KINDS}
    assert plain == set(policy_fields.cel_fields()) == set(policy_fields.settings())
    for served in policy_fields.KINDS.values():
        assert served[-1].version == "v1"
        assert served[-1].since == Version(1, 17)
