"""What stands between braces, read as Helm reads it."""

import pytest

from chartkit.helm.syntax import Call, Literal, Path, read_action, terms
from tests.data import from_table


@from_table("text", "keyword", "declares", "trims")
def test_syntax_actions(text: str, keyword: str, declares: list[str], trims: bool) -> None:
    action = read_action(text + " }}", 0)
    assert action is not None
    assert (action.keyword, list(action.declares), action.trims) == (keyword, declares, trims)
    assert action.end == len(text)


def test_a_pipeline_hands_its_value_on_as_the_last_argument() -> None:
    action = read_action('{{ $.Values.a | default "b" | quote }}', 0)
    assert action is not None
    default = Call("default", (Literal("b", True), Path("$", ("Values", "a"))), True)
    assert action.value == Call("quote", (default,))
    assert [each.name for each in terms(action.value) if isinstance(each, Call)] == [
        "quote",
        "default",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{{ keys(labels) }}",
        "{{ first.name }}",
        "{{ request.object.metadata.labels.\"a/b\" || '' }}",
        "{{ a[0] }}",
        "{{ @ }}",
        "{{-x }}",
        "{{ }}",
        "{{ .a",
        "{{ .a .b | }}",
        '{{ "a\\/b" }}',
        '{{ "a\\x41" }}',
        '{{ "\\ud800" }}',
        '{{ print "a""b" }}',
        "{{ " + "(" * 50 + ".a" + ")" * 50 + " }}",
        "{{ print " + '"a" ' * 5000 + "}}",
    ],
)
def test_what_is_no_helm(text: str) -> None:
    assert read_action(text, 0) is None


def test_a_method_is_a_call_by_its_path() -> None:
    action = read_action('{{ $.Files.Get "a" }}', 0)
    assert action is not None
    assert action.value == Call("$.Files.Get", (Literal("a", True),), True)
