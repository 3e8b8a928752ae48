"""Functions of JMESPath in conditions: what they become, and that both forms agree."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from chartkit.addons.migrate.jmespath import call
from chartkit.engine.jmespath import compiler
from chartkit.engine.jmespath.declaration import function
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.model import Body
from tests.addons.migrate.conversions import converted, deny, proved, same_result
from tests.data import from_table

_NOTE = "object.metadata.annotations.note"
_NAMES = "request.object.spec.containers[].name"
_LONGER = "request.object.spec.containers[].image"
_BEFORE = "2024-05-06T07:08:09Z"


def _condition(query: str, value: str = "true", operator: str = "Equals") -> str:
    """Return a deny rule about a query; NOTE stands for an annotation."""
    written = query.replace("NOTE", "request.object.metadata.annotations.note")
    return deny(f"{{{{ {written} }}}}", operator, value)


def _pod(note: str, **metadata: object) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "d",
            "creationTimestamp": _BEFORE,
            **metadata,
            "annotations": {"note": note},
        },
        "spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]},
    }


@from_table("query", "operator", "value", "expression")
def test_functions(query: str, operator: str, value: str, expression: str) -> None:
    found = converted(_condition(query, value, operator), "Pod")
    assert found.reason == ""
    assert found.expressions == [expression]


def test_a_declaration_brings_its_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    @function("tail(string, string) string", cel="text.split(mark)[1] + mark")
    def tail(text: str, mark: str) -> str:
        """Return the second part of a text."""
        return text.split(mark)[1] + mark

    monkeypatch.setattr(call, "DECLARED", {**FUNCTIONS, "tail": tail})
    monkeypatch.setattr(compiler, "FUNCTIONS", {**FUNCTIONS, "tail": tail})
    found = converted(_condition("tail(NOTE, '/')", "b/"), "Pod")
    assert found.expressions == [f"{_NOTE}.split('/')[1] + '/' != 'b/'"]


@pytest.mark.parametrize(
    ("query", "value", "notes"),
    [
        ("merge(request.object.metadata.annotations, {a: 'b'}).note", "x", ("x", "y")),
        ("merge({note: 'a'}, request.object.metadata.annotations).note", "x", ("x", "a")),
        ("max_by(request.object.spec.containers, &length(name)).name", "a", ("x",)),
        ("min_by(request.object.spec.containers, &name).name", "a", ("x",)),
        ("max_by(request.object.spec.containers, &name).name || 'none'", "b", ("x",)),
        ("avg(request.object.spec.containers[].length(name))", "1", ("x",)),
        ("type(NOTE)", "string", ("x",)),
        ("type(request.object.spec.hostPID)", "'null'", ("x",)),
        ("type(request.object.spec.containers)", "array", ("x",)),
        ("type(request.object.spec.unknown)", "'null'", ("x",)),
        ("to_string(request.object.spec.hostPID)", "'null'", ("x",)),
        ("to_string(request.object.metadata.labels) == NOTE", "true", ("null", "x")),
        (f"object_from_lists({_NAMES}, {_LONGER}) | b || 'none'", "b:2", ("x",)),
        ("time_after(NOTE, request.object.metadata.creationTimestamp)", "true", (_BEFORE, "x")),
        ("time_between(NOTE, '2024-05-06T07:08:08Z', '2024-05-06T07:08:10Z')", "true", (_BEFORE,)),
        (
            "time_add(NOTE, '1500ms')",
            f"'{_BEFORE}'",
            ("2024-05-06T07:08:07.6Z", "2024-05-06T07:08:08Z"),
        ),
        ("time_truncate(NOTE, '1h')", "'2024-05-06T07:00:00Z'", (_BEFORE,)),
        (
            "time_parse('2006-01-02T15:04:05Z07:00', NOTE)",
            f"'{_BEFORE}'",
            (_BEFORE, _BEFORE.replace("Z", ".7Z"), "2024-05-06T07:08:08Z", "2024-05-06"),
        ),
        ("regex_replace_all('a*', NOTE, '<$0>')", "'<aa>b<>'", ("aab", "b", "")),
        ("regex_replace_all('(a)|b', NOTE, '${1}$$$7-')", "a$-", ("a", "b")),
        ("regex_replace_all_literal('a', NOTE, '$1')", "$1b", ("ab",)),
        ("semver_compare(NOTE, '<1.0.0 || 2.x')", "true", ("v1.2.3", "1.2.3", "2.9.0", "0.1.0")),
        ("to_number(NOTE)", "5", ("5", "5.0", "5e0", "x", "")),
        ("to_boolean(NOTE)", "true", ("True", "no", "FALSE")),
        ("equal_fold(NOTE, 'Kind')", "true", ("kInD", "\u212aind", "mind")),
        ("trim(NOTE, '-.')", "a.b", ("-.a.b-", "a.b")),
        ("trim_prefix(NOTE, 'v.')", "x", ("v.x", "vxx", "x")),
        ("replace(NOTE, 'a', 'b', `1`)", "ba", ("aa", "ab")),
        ("pattern_match('a?c*', NOTE)", "true", ("abc", "ac", "abcd")),
        ("split(NOTE, '/')[-1]", "b", ("a/b", "b", "b/")),
        ("split(NOTE, '/')[-1] | starts_with(@, 'b')", "true", ("a/b", "b", "a/")),
        ("semver_compare(split(NOTE, ':')[-1], '>=1.25.0')", "true", ("a:1.26.0", "a:1", "1.2.0")),
        ("split(time_now_utc(), 'T')[1] | length(@)", "9", ("x",)),
        ("length(images.containers)", "2", ("",)),
        ("length(images.initContainers || `{}`)", "0", ("",)),
        ("request.object.spec.hostIPC || false", "true", ("",)),
        ("request.object.spec.containers[-2].name", "a", ("",)),
        ("request.object.spec.containers[-3].name || 'none'", "none", ("",)),
        ("sha256(NOTE)", "'2c26*'", ("foo", "bar")),
        ("length(request.object.metadata.*.note)", "1", ("x",)),
        ("request.object.metadata.annotations.* | [0]", "x", ("x", "y")),
        ("images.containers.*.tag | length(@)", "2", ("",)),
        ("sort(keys(request.object.metadata.annotations))[0]", "note", ("",)),
        ("sort(split(NOTE, ','))[0]", "a", ("b,a", "a,b", "c")),
        ("sort_by(request.object.spec.containers, &image)[-1].name", "b", ("",)),
        ("sort_by(request.object.spec.containers, &workingDir)[0].name", "a", ("",)),
        ("map(&name, request.object.spec.containers)[1]", "b", ("",)),
        ("reverse(request.object.spec.containers)[0].name", "b", ("",)),
        ("split(NOTE, ',')[1:] | [0]", "b", ("a,b,c", "a", "b")),
        ("split(NOTE, ',')[:2] | length(@)", "2", ("a,b,c", "a", "a,b")),
        ("split(NOTE, ',')[-2:-1] | [0]", "b", ("a,b,c", "b,a", "b")),
        ("split(NOTE, ',')[2:1] | length(@)", "0", ("a,b,c", "a")),
        ("keys(request.object.metadata.labels) | contains(@, 'a')", "true", ("",)),
        ("request.object.spec.hostname | to_upper(@)", "X", ("",)),
        ("parse_yaml(NOTE) | @.name", "x", ("name: x", "other: x")),
        ("lookup(request.object.metadata.labels, 'a')", "x", ("",)),
        ("join('-', ['a', '{{ NOTE | parse_yaml(@).name }}'])", "a-null", ("name: x", "other: x")),
    ],
)
def test_both_forms_agree(query: str, value: str, notes: Sequence[str]) -> None:
    rule = _condition(query, value)
    for note in notes:
        same_result(rule, _pod(note))


@from_table("query")
def test_what_has_no_exact_form_stays(query: str) -> None:
    assert converted(_condition(query), "Pod").reason


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("nginx", ("docker.io", "nginx", "latest", "")),
        ("docker.io/library/nginx:1", ("docker.io", "library/nginx", "1", "")),
        ("localhost:5000/a/b", ("localhost:5000", "a/b", "latest", "")),
        ("localhost/a:v_1.2-x", ("localhost", "a", "v_1.2-x", "")),
        (f"ghcr.io/a/b@sha256:{'0' * 64}", ("ghcr.io", "a/b", "", f"sha256:{'0' * 64}")),
        (f"a/b:1@sha256:{'f' * 64}", ("docker.io", "a/b", "1", f"sha256:{'f' * 64}")),
    ],
)
def test_parts_of_images(image: str, parts: Sequence[str]) -> None:
    pod = _pod("")
    pod["spec"]["containers"] = [{"name": "a", "image": image}]
    for name, part in zip(("registry", "path", "tag", "digest"), parts, strict=True):
        rule = _condition(f"images.containers.*.{name}", f"['{part}']", "AllIn")
        if part:
            assert same_result(rule, pod) == "refused"
            assert same_result(rule.replace(f"'{part}'", "other"), pod) == "allowed"


@pytest.mark.parametrize("note", ["a", '["a", "b"]', '["b"]', "[]", "ab"])
@pytest.mark.parametrize("operator", ["AnyIn", "AnyNotIn", "AllIn", "AllNotIn"])
def test_a_text_of_the_object_may_be_a_list_in_json(operator: str, note: str) -> None:
    for key in ("request.object.metadata.labels.role", "request.object.spec.containers[].name"):
        rule = _condition(key, "'{{ request.object.metadata.annotations.note }}'", operator)
        same_result(rule, _pod(note, labels={"role": "a"}))


@pytest.mark.parametrize("owners", [None, [], [{"name": "a"}]])
def test_an_empty_list_is_compared(owners: object) -> None:
    given = {} if owners is None else {"ownerReferences": owners}
    rule = _condition("request.object.metadata.ownerReferences || `[]`", "[]")
    assert same_result(rule, _pod("", **given)) == ("allowed" if owners else "refused")


_GROUP = "request.userInfo.groups[?starts_with(@, 'tenant:')] | [0] | split(@, ':')[1]"


@from_table("key", "operator", "value")
def test_arithmetic_of_sizes_is_exact(key: str, operator: str, value: str) -> None:
    rule = deny(f"{{{{ {key} }}}}", operator, value)
    proved(rule, "Pod")
    sizes = ("100m", "200m", "1500m", "0", "3Gi")
    for first, second in pairwise(sizes):
        body = _pod("")
        for container, size in zip(body["spec"]["containers"], (first, second), strict=True):
            container["resources"] = {"requests": {"cpu": size}, "limits": {"cpu": second}}
        same_result(rule, body)


def test_a_default_of_a_function_whose_argument_may_be_absent() -> None:
    rule = f"""
    context: [{{name: tenant, variable: {{jmesPath: "{_GROUP}", default: none}}}}]
    validate: {{message: m, pattern: {{data: {{tenant: "{{{{ tenant }}}}-*"}}}}}}
    """
    assert "tenant" in proved(rule).variables


def test_a_text_made_at_random() -> None:
    rule = "mutate: {patchStrategicMerge: {data: {+(id): \"{{ random('[a-z]{8}') }}\"}}}"
    assert "random.random('[a-z]{8}')" in str(proved(rule).spec["mutations"])
