"""Policies' templates, forms in CEL and messages, and the schema of chartkit.yaml."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from chartkit.bundled import library_dir
from chartkit.documents.reader import parse_yaml
from chartkit.errors import InputError, RenderError
from chartkit.kyverno import policy_fields
from chartkit.kyverno.policy_fields import extends_to_controllers
from chartkit.kyverno.versions import Version
from chartkit.library.parameters import helm_body
from chartkit.library.policies import FolderPolicy, read_library
from chartkit.library.profiles import project_schema
from chartkit.library.rendered import RenderedPolicy, read_templates
from chartkit.model import Body, Json
from tests.data import beside, from_table
from tests.policy_library import library, render
from tests.unit.project.project_files import POLICY, write_policy

_PARAMETERS = beside(__file__)["parameters"]


def _policy(tmp_path: Path, text: str) -> FolderPolicy:
    if not (tmp_path / "mine").exists():
        write_policy(tmp_path, "mine", more=_PARAMETERS)
    (tmp_path / "mine" / "policy.yaml").write_text(text)
    (policy,) = read_library([tmp_path]).policies.values()
    return policy


def _value(tmp_path: Path, expression: str, **parameters: Json) -> Json:
    policy = _policy(tmp_path, f"before: 1\nx: <%= {expression} %>\nafter: 2\n")
    body = render([policy], parameters)["mine"]
    assert (body["before"], body["after"]) == (1, 2)
    return body["x"]


@pytest.mark.parametrize("value", [0, 7, 3_000_000, -1])
def test_whole_numbers_stay_whole(tmp_path: Path, value: int) -> None:
    assert _value(tmp_path, 'parameter("minimum")', minimum=value) == value
    assert _value(tmp_path, 'text(">=%d", parameter("minimum"))', minimum=value) == f">={value}"


@pytest.mark.parametrize(
    "value", ["plain", "a: b # c", '"quoted" \\ back', "{{ x }}", "line\nbreak", "- a", "é<&>", ""]
)
def test_texts_cannot_break_out_of_their_place(tmp_path: Path, value: str) -> None:
    assert _value(tmp_path, 'parameter("label")', label=value) == value
    assert _value(tmp_path, 'text("[%s]", parameter("label"))', label=value) == f"[{value}]"


def test_lists_and_booleans(tmp_path: Path) -> None:
    assert _value(tmp_path, 'parameter("names")') == ["a", "b"]
    assert _value(tmp_path, 'parameter("names")', names=[]) == []
    assert _value(tmp_path, 'parameter("strict")', strict=True) is True


@pytest.mark.parametrize(
    ("names", "plain", "formed"),
    [([], "", ""), (["a"], "a", "!a/*"), (["a", "b"], "a | b", "!a/* | !b/*")],
)
def test_lists_are_joined(tmp_path: Path, names: list[str], plain: str, formed: str) -> None:
    assert _value(tmp_path, 'join_with(parameter("names"), " | ")', names=names) == plain
    joined = 'join_with(parameter("names"), " | ", "!%s/*")'
    assert _value(tmp_path, joined, names=names) == formed


@pytest.mark.parametrize(
    ("names", "expected"), [([], []), (["a"], ["!a/*"]), (["a", "b c"], ["!a/*", "!b c/*"])]
)
def test_texts_of_a_list_are_put_in_a_form(
    tmp_path: Path, names: list[str], expected: list[str]
) -> None:
    assert _value(tmp_path, 'each(parameter("names"), "!%s/*")', names=names) == expected


def test_variables_of_kyverno_take_values(tmp_path: Path) -> None:
    found = _value(tmp_path, 'variable("request.object.metadata.labels.%s", parameter("label"))')
    assert found == "{{ request.object.metadata.labels.team }}"


@from_table("version", "expected")
def test_alternatives_come_with_versions(tmp_path: Path, version: str, expected: str) -> None:
    since = 'since("standard", "1.27", "b"), since("standard", "1.30", "c", "d")'
    assert _value(tmp_path, f'either("a", {since})', standard=version) == expected


@pytest.mark.parametrize(("version", "lines"), [("v1.33", False), ("v1.34", True)])
def test_lines_stand_under_conditions(tmp_path: Path, version: str, lines: bool) -> None:
    text = beside(__file__)["text"]
    body = render(
        [_policy(tmp_path, text.replace("{{", '"{{').replace("}}", '}}"'))], {"standard": version}
    )["mine"]
    more = [{"second": "{{ request.object }}", "third": "team"}] if lines else []
    assert body == {"list": ["first", *more], "last": "x"}


@pytest.mark.parametrize(("strict", "found"), [(True, {"mine": {"a": 1}}), (False, {})])
def test_a_policy_without_lines_is_not_written(
    tmp_path: Path, strict: bool, found: dict[str, Json]
) -> None:
    policy = _policy(tmp_path, '<% call when(parameter("strict")) %>\na: 1\n<% endcall %>\n')
    assert render([policy], {"strict": strict}) == found


def test_conditions_stand_inside_one_another(tmp_path: Path) -> None:
    text = (
        '<% call when(parameter("strict")) %>\na: 1\n'
        '<% call when(version_at_least("standard", "1.30")) %>\nb: 2\n<% endcall %>\n'
        "c: 3\n<% endcall %>\n"
    )
    policy = _policy(tmp_path, text)
    assert render([policy], {"strict": True, "standard": "v1.30"})["mine"] == {
        "a": 1,
        "b": 2,
        "c": 3,
    }
    assert render([policy], {"strict": True, "standard": "v1.29"})["mine"] == {"a": 1, "c": 3}
    assert render([policy], {"strict": False}) == {}


def test_variables_of_kyverno_are_written_plainly(tmp_path: Path) -> None:
    text = "x: \"{{ request.object.a || '' }}\"\nz: '{{ b[?c == `d`] }} {{e}}'\n"
    assert render([_policy(tmp_path, text)], {})["mine"] == {
        "x": "{{ request.object.a || '' }}",
        "z": "{{ b[?c == `d`] }} {{e}}",
    }


@pytest.mark.parametrize(
    "expression",
    ['parameter("minimun")', 'version_at_least("minimun", "1")', 'since("minimun", "1", "x")'],
)
def test_a_parameter_that_is_not_declared_is_refused(tmp_path: Path, expression: str) -> None:
    policy = _policy(tmp_path, f"x: <%= {expression} %>\n")
    with pytest.raises(InputError, match="no parameter 'minimun'") as caught:
        helm_body(policy)
    assert str(caught.value.location) == f"{tmp_path / 'mine' / 'policy.yaml'}:1"


@pytest.mark.parametrize("text", ["x: <%= nothing %>\n", "x: <%= %>\n", "<% if %>\n"])
def test_a_broken_template_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(RenderError, match="template"):
        helm_body(_policy(tmp_path, text))


@pytest.mark.parametrize(
    "expression", ["''.__class__.__mro__", "parameter.__globals__", "text.__code__"]
)
def test_a_template_cannot_reach_into_python(tmp_path: Path, expression: str) -> None:
    with pytest.raises(RenderError):
        helm_body(_policy(tmp_path, f"x: <%= {expression} %>\n"))


@from_table("value", "literal")
def test_a_value_in_cel_is_a_literal(tmp_path: Path, value: str, literal: str) -> None:
    assert _value(tmp_path, 'cel(parameter("label"))', label=value) == literal
    written = _value(tmp_path, 'cel("x == %s && 4 %% 2 == 0", parameter("label"))', label=value)
    assert written == f"x == {literal} && 4 % 2 == 0"


def test_numbers_and_lists_in_cel(tmp_path: Path) -> None:
    assert _value(tmp_path, 'cel(parameter("minimum"))', minimum=3_000_000) == "3000000"
    assert _value(tmp_path, 'cel(parameter("names"))') == '["a","b"]'


def test_wildcards_in_cel_are_one_regular_expression(tmp_path: Path) -> None:
    assert _value(tmp_path, 'matching(parameter("names"))', names=["a.*", "?b"]) == (
        r"(?s)^(a\..*|.b)$"
    )
    assert _value(tmp_path, 'matching(parameter("names"), "*:%s")') == "(?s)^(.*:a|.*:b)$"
    assert _value(tmp_path, 'matching(parameter("names"), "%s/*")', names=[]) == "(?s)^()$"


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


@from_table("kind", "spec", "version", "field")
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


_PARAMETER = "parameters: {least: {type: integer, default: 2, description: How many.}}\n"
_BEGINNING = 60
"""The characters of a message that no template has in common with the other."""


def _messages_policy(tmp_path: Path, message: str, messages: str) -> FolderPolicy:
    text = POLICY.replace("message: not so", f"message: {message}")
    write_policy(tmp_path, "mine", text, more=f"{_PARAMETER}messages:\n{messages}")
    (policy,) = read_library([tmp_path]).policies.values()
    return policy


def _message(policy: FolderPolicy) -> str:
    (rendered,) = read_templates([policy])
    rule: Body = rendered.bodies[0]["spec"]["rules"][0]
    return str(rule["validate"]["message"])


@pytest.mark.parametrize(
    ("call", "message", "printed"),
    [
        ("message('it')", "Not so.", "Not so."),
        ("message('it')", 'A "quote", a \\, {{ request.name }}: x', None),
        ("message('it')", " ".join(["many words, {{ request.object.kind }}"] * 20), None),
        ("message('it', parameter('least'))", "Not %d.", "Not 2."),
        ("message('it', message_when(version_at_least('v', '1.25'), 'part'))", "A%s.", "A and b."),
    ],
)
def test_a_message_is_printed(tmp_path: Path, call: str, message: str, printed: str | None) -> None:
    literal = message.replace("'", "''")
    version = "{type: string, default: '1.30', description: Which.}"
    text = POLICY.replace("message: not so", f"message: <%= {call} %>")
    more = f"parameters: {{least: {_PARAMETER.partition('least: ')[2][:-2]}, v: {version}}}\n"
    messages = f"messages:\n  it: '{literal}'\n  part: ' and b'\n"
    write_policy(tmp_path, "mine", text, more=more + messages)
    (policy,) = read_library([tmp_path]).policies.values()
    assert _message(policy) == (message if printed is None else printed)


def test_a_message_that_is_not_there_is_refused(tmp_path: Path) -> None:
    policy = _messages_policy(tmp_path, "<%= message('its') %>", "  it: Not so.\n")
    with pytest.raises(InputError, match="the policy has no message 'its'") as caught:
        read_templates([policy])
    assert caught.value.hint == "did you mean 'it'?"


def test_a_variable_next_to_values_is_refused(tmp_path: Path) -> None:
    policy = _messages_policy(
        tmp_path, "<%= message('it', parameter('least')) %>", "  it: '{{ request.name }}: %d'\n"
    )
    with pytest.raises(InputError, match=r"message 'it' has \{\{ and values"):
        read_templates([policy])


def _all_messages(bodies: tuple[Body, ...]) -> set[str]:
    specs = [body["spec"] for body in bodies]
    rules = [rule.get("validate", {}) for spec in specs for rule in spec.get("rules", ())]
    validations = [each for spec in specs for each in spec.get("validations", ())]
    return {each["message"] for each in rules + validations if "message" in each}


def test_no_policy_of_the_library_repeats_a_message_by_hand() -> None:
    repeated, common = [], 0
    for rendered in read_templates(list(library().policies.values())):
        policy = rendered.policy
        assert isinstance(policy, FolderPolicy)
        both = _all_messages(rendered.bodies) & _all_messages(rendered.cel_bodies)
        common += bool(both)
        for source in filter(None, (policy.template, policy.cel)):
            words = " ".join(source.text.split())
            repeated += [(source.file, each) for each in both if each[:_BEGINNING] in words]
    assert repeated == []
    assert common > 50


@pytest.mark.parametrize("policy", library().policies.values(), ids=lambda policy: policy.name)
def test_every_message_is_printed_by_both_forms(policy: FolderPolicy) -> None:
    assert policy.cel is not None
    body = parse_yaml((policy.folder / "metadata.yaml").read_text("utf-8"))
    for name in body.get("messages", {}):
        for source in (policy.template, policy.cel):
            assert f'"{name}"' in source.text, source.file


SCHEMA: dict[str, Any] = project_schema(read_library([library_dir()]).policies.values())


def test_it_is_a_schema_that_takes_what_is_right() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    text = """
profiles: [eks-best-practices, ./ours.yaml]
defaults: {kyverno: "1.19", eks: "1.34", policies: {disallow-host-path: {enabled: false}}}
environments:
  prd:
    parameters: {podSecurityVersion: v1.34}
    policies:
      restrict-image-registries: {parameters: {allowedRegistries: [reg.example.com]}}
      of-our-own: {parameters: {anything: 1}}
"""
    assert not list(Draft202012Validator(SCHEMA).iter_errors(yaml.safe_load(text)))


@pytest.mark.parametrize(
    "settings", [{"parameters": {"allowedRegistry": []}}, {"parameters": {"allowedRegistries": 3}}]
)
def test_a_parameter_is_one_that_the_policy_has(settings: dict[str, Any]) -> None:
    policies = {"restrict-image-registries": settings}
    body = {"environments": {"prd": {"policies": policies}}}
    assert list(Draft202012Validator(SCHEMA).iter_errors(body))


def test_names_are_completed() -> None:
    found = SCHEMA["$defs"]["environment"]["properties"]
    assert "disallow-host-path" in found["policies"]["properties"]
    assert found["parameters"]["properties"]["podSecurityVersion"]["description"]
    assert "pss-baseline" in SCHEMA["$defs"]["profiles"]["items"]["anyOf"][0]["enum"]


def test_the_repository_is_right_by_it() -> None:
    body = yaml.safe_load((Path(__file__).parents[3] / "chartkit.yaml").read_text())
    assert not list(Draft202012Validator(SCHEMA).iter_errors(body))
