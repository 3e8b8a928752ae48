"""What a policy's template becomes in Helm, and what Helm makes of that."""

from pathlib import Path

import pytest

from chartkit.errors import InputError, RenderError
from chartkit.library.parameters import helm_body
from chartkit.library.policies import FolderPolicy, read_library
from chartkit.model import Json
from tests.policy_library import render
from tests.unit.project.project_files import write_policy

_PARAMETERS = """\
parameters:
  minimum: {type: integer, default: 2, description: How many.}
  names: {type: array, items: {type: string}, default: [a, b], description: Which.}
  label: {type: string, default: team, description: The label.}
  strict: {type: boolean, default: false, description: Whether.}
  standard: {type: string, default: latest, description: The version.}
"""


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


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v1.19", "a"),
        ("v1.26", "a"),
        ("v1.27", "a | b"),
        ("v1.30", "a | b | c | d"),
        ("v1.100", "a | b | c | d"),
        ("latest", "a | b | c | d"),
    ],
)
def test_alternatives_come_with_versions(tmp_path: Path, version: str, expected: str) -> None:
    since = 'since("standard", "1.27", "b"), since("standard", "1.30", "c", "d")'
    assert _value(tmp_path, f'either("a", {since})', standard=version) == expected


@pytest.mark.parametrize(("version", "lines"), [("v1.33", False), ("v1.34", True)])
def test_lines_stand_under_conditions(tmp_path: Path, version: str, lines: bool) -> None:
    text = """\
list:
  - first
<% call when(version_at_least("standard", "1.34")) %>
  - second: {{ request.object }}
    third: <%= parameter("label") %>
<% endcall %>
last: x
"""
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


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("plain", '"plain"'),
        ('a" || true || "', '"a\\" || true || \\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("object.spec", '"object\\u002espec"'),
        ("oldObject.spec", '"oldObject\\u002espec"'),
    ],
)
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
