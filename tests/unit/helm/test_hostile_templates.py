"""Templates of strangers and braces of Kyverno through Helm and back."""

import re
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartkit.charts.plan import ChartPlan
from chartkit.documents.reader import Source
from chartkit.errors import InputError, RenderError
from chartkit.helm import backend
from chartkit.helm.embedded_code import UpstreamText, first_code, read_upstream
from chartkit.helm.gateway import Gateway
from chartkit.helm.model import ChartError, Target
from chartkit.helm.render import render_chart
from chartkit.helm.sandbox.process import Limits
from chartkit.helm.syntax import escape, literal
from chartkit.library.templating import render_text
from tests.data import beside, from_table
from tests.draws import draws
from tests.errors import error_of
from tests.shared import shared
from tests.unit.helm.conftest import BACKENDS, Write, chosen

_LIMITS = Limits(seconds=60, cpu_seconds=1, memory=384 * 1024 * 1024, output=4 * 1024 * 1024)
_TARGET = Target("r", "default")
_ITSELF = '{{ $d := dict }}{{ $_ := set $d "a" $d }}'
HOSTILE = {
    "a dict in itself, printed": _ITSELF + '{{ printf "%v" $d }}',
    "mergeOverwrite of itself": _ITSELF + "{{ $_ := mergeOverwrite $d $d }}",
    "deepCopy of itself": _ITSELF + "{{ $_ := deepCopy $d }}",
    "repeat": '{{ repeat 4000000000000 "a" }}',
    "tpl of itself": "{{ tpl .Values.x . }}",
    "nested range": "{{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}",
    "indent": '{{ indent 4000000000 "a" }}',
    "until": "{{ until 10000000000 }}",
    "randAlphaNum": "{{ randAlphaNum 2000000000 }}",
    "seq": "{{ seq 1 1 1000000000 }}",
    "doublings": '{{ $x := "a" }}{{ range until 40 }}{{ $x = printf "%s%s" $x $x }}{{ end }}',
    "much output": '{{ range until 300 }}{{ repeat 1000000 "a" }}\n{{ end }}',
    "endless include": '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}',
    "endless template": '{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}',
}
_REFUSED_BY_HELM = ("endless include", "endless template")


@pytest.fixture(scope="module", params=BACKENDS)
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(backend.VARIABLE, chosen(request, request.param))
        opened = backend.connect(_LIMITS)
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_one_line(gateway: Gateway, chart: Write, name: str) -> None:
    folder = chart(
        {
            "values.yaml": 'x: "{{ tpl .Values.x . }}"\n',
            "templates/b.yaml": f"a: {HOSTILE[name]}\n",
            "templates/_partial.tpl": '{{ define "unused" }}{{ end }}',
        }
    )
    error = error_of(RenderError, gateway.render, folder, {}, _TARGET)
    assert "goroutine" not in error.message
    if name not in _REFUSED_BY_HELM:
        assert isinstance(error, ChartError)
        assert error.message.startswith("Helm was stopped: it ")
        assert "\n" not in error.message
        assert error.file in ("templates/b.yaml", *[""] * (name == "much output"))
        assert "Pod" in "".join(
            gateway.render(chart({"templates/b.yaml": ""}), {}, _TARGET).files.values()
        )


def test_memory_of_the_process_that_asks_does_not_count(chart: Write) -> None:
    held = b"x" * (_LIMITS.memory + 2**20)
    opened = backend.connect(_LIMITS)
    try:
        assert opened.render(chart({"templates/b.yaml": "a: 1"}), {}, _TARGET)
    finally:
        opened.close()
    assert held


def test_many_small_objects_are_fine(chart: Write) -> None:
    pod = "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a{{ . }}}"
    pods = f"{{{{ range until 20000 }}}}{pod}{{{{ end }}}}"
    opened = backend.connect(Limits())
    try:
        texts = opened.render(chart({"templates/b.yaml": pods}), {}, _TARGET).files
    finally:
        opened.close()
    assert texts["demo/templates/b.yaml"].count("kind: Pod") == 20000


@pytest.mark.parametrize("broken", ["lint", "dry_run"])
def test_every_question_has_limits(gateway: Gateway, chart: Write, broken: str) -> None:
    folder = chart({"templates/b.yaml": f"a: {HOSTILE['repeat']}\n"})
    with pytest.raises(ChartError, match="needs more than 384 MiB of memory") as caught:
        getattr(gateway, broken)(folder, {}, _TARGET)
    assert caught.value.file == "templates/b.yaml"


def test_what_a_stopped_library_prints_stays_with_it(
    gateway: Gateway, chart: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ChartError):
        gateway.render(chart({"templates/b.yaml": HOSTILE["repeat"]}), {}, _TARGET)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("off", ["templates/b.yaml", "charts/sub/templates/z.yaml"])
def test_the_template_is_found_among_many(gateway: Gateway, chart: Write, off: str) -> None:
    files: dict[str, str | bytes] = {f"templates/t{n}.yaml": "" for n in range(9)}
    files["charts/sub/Chart.yaml"] = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
    files["charts/off/Chart.yaml"] = "apiVersion: v2\nname: off\nversion: 1.0.0\n"
    files["charts/off/templates/y.yaml"] = "a: b\n"
    files["Chart.yaml"] = (
        "apiVersion: v2\nname: demo\nversion: 1.0.0\ndependencies:\n"
        "- {name: off, version: 1.0.0, condition: off.enabled}\n- {name: sub, version: 1.0.0}\n"
    )
    files["values.yaml"] = "off: {enabled: false}\n"
    files[off] = HOSTILE["repeat"]
    # Templates of a subchart that is off are never reached: better no name than a wrong one.
    assert error_of(ChartError, gateway.render, chart(files), {}, _TARGET).file in (off, "")


_CHART = "apiVersion: v2\nname: text\nversion: 0.0.0\n"


def through_helm(template: str) -> str:
    """What Helm makes of a template's text."""
    object_ = 'apiVersion: v1\nkind: Text\ntext: {{ include "text" . | toJson }}\n'
    marked = '{{- define "text" }}' + template + "{{ end }}" + object_
    files = {"Chart.yaml": _CHART, "templates/text.yaml": marked}
    rendered = render_chart(ChartPlan("text", files, {"values.yaml": "{}\n"}))
    text: str = rendered.resources[0].body["text"]
    return text


@from_table("text", "escaped")
def test_escaping_escapes(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@from_table("escaped")
def test_keeps_what_is_escaped_already(escaped: str) -> None:
    assert escape(escaped) == escaped
    assert escape(escape(escaped)) == escaped


@from_table("text")
def test_helm_prints_the_library_text(text: str) -> None:
    assert through_helm(escape(text)) == text


@draws(150)
@given(st.lists(st.sampled_from(["{{", "}}", "{", "}", "`", '"', "\\", "\n", " ", "x", "é", "-"])))
def test_helm_prints_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    packed = re.sub(r"[\s-]", "", text)
    if "{{`" in packed or '{{"' in packed:
        # What looks like a Helm literal may be taken for one, on purpose.
        return
    escaped = escape(text)
    assert through_helm("x" + escaped + "x") == "x" + text + "x"


def test_a_tag_in_a_variable_stays_a_tag() -> None:
    escaped = escape("{{ x == '<%= name %>' }}")
    assert through_helm(render_text(escaped, {"name": "a"})) == "{{ x == 'a' }}"


def test_literal_quotes_backticks() -> None:
    assert literal("a") == "{{ `a` }}"
    assert literal("`") == '{{ "`" }}'


_GUARDED = beside(__file__)["guarded"]


def _read(text: str) -> UpstreamText:
    return read_upstream(Source("a.yaml", text))


def _rendered(template: str, **values: object) -> str:
    files = {
        "Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.0.0\n",
        "templates/_a.tpl": '{{ define "theirs.enabled" }}true{{ end }}'
        '{{ define "kyverno-policies.labels" }}app: a{{ end }}',
        "templates/a.yaml": f'{{{{ define "text" }}}}\n{template}\n{{{{ end }}}}'
        'apiVersion: v1\nkind: A\ntext: {{ include "text" . | toJson }}\n',
    }
    (found,) = render_chart(ChartPlan("a", files, {"values.yaml": "{}\n"}), [values]).resources
    text: str = found.body["text"]
    assert text[0] == text[-1] == "\n"
    return text[1:-1]


@from_table("text")
def test_what_is_no_code_of_helm_s_is_printed(text: str) -> None:
    found = _read(text)
    assert not found.has_code
    assert found.outline == text
    assert _rendered(found.template) == text


def test_escaped_braces_stay() -> None:
    text = """a: 'sleep {{ `{{ b }}` }} {{"{{"}} c {{ "}}" }} {{ d }}'"""
    found = _read(text)
    assert not found.has_code
    assert found.outline == "a: 'sleep {{ b }} {{ c }} {{ d }}'"
    assert _rendered(found.template) == found.outline


def test_a_guard_values_and_labels_are_kept() -> None:
    found = _read(_GUARDED)
    assert found.guards == ("theirs.enabled",)
    body = yaml.safe_load(found.outline)
    assert body["metadata"]["name"] == "ours"
    assert body["mode"] == "strict"
    assert found.outline.count("\n") == _GUARDED.count("\n")
    body = yaml.safe_load(_rendered(found.template, team="b"))
    assert body == {
        "kind": "A",
        "metadata": {"name": "ours", "labels": {"app": "a", "team": "b"}},
        "message": "{{ request.operation }} of {{ request.namespace }}",
        "mode": "lax",
    }


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ('{{ .Files.Get "secret" }}', "may read no file"),
        ('{{ $.Files.Get "secret" }}', "may read no file"),
        ("{{ .Files }}", r"reads \.Files"),
        ("{{ $.Template.Name }}", r"reads \.Template"),
        ('{{ lookup "v1" "Secret" "a" "b" }}', "read objects of the cluster"),
        ("{{ tpl .Values.a . }}", "run values as code"),
        ('{{ index .Values (tpl "a" .) }}', "run values as code"),
        ('{{ ("a" | tpl .) }}', "run values as code"),
        ('{{ env "HOME" }}', "read the environment"),
        ('{{ getHostByName "a" }}', "ask the network"),
        ("{{ randAlphaNum 8 }}", "every render would differ"),
        ('{{ .Values.a | date "2006" }}', "calls 'date'"),
        ("{{ .Values.a | unknown }}", "Helm has no such function"),
        ("{{ if unknown .Values.a }}b{{ end }}", "Helm has no such function"),
        ('{{ define "kyverno-policies.enabled" }}true{{ end }}', "no templates of its own"),
        ('{{ block "a" . }}{{ end }}', "not Helm code that can be read"),
        ('{{ include "kyverno-policies.call" . }}', "beside a guard"),
        ("{{ include .Values.a . }}", "without a name"),
        ("{{ if .Values.a }}", "has no end"),
        ("{{ if eq .Values.a }} }", "has no end"),
        ("{{ $a }}", "is not set before"),
        ("{{ range list 1 2 }}a{{ end }}", r"a list of \.Values alone"),
        ("{{ with .Values.a }}{{ break }}{{ end }}", "run to their end"),
        ('{{ printf "%[1]s%[1]s" .Values.a }}', "needs a form"),
        ('{{ printf "%1000000d" 1 }}', "needs a form"),
        ('{{ "a" | indent 1000000 }}', "indents by"),
        ('{{ repeat 1000000000 "a" }}', "calls 'repeat'"),
        ("{{ " + "quote (" * 11 + ".Values.a" + ")" * 11 + " }}", "megabytes"),
        (
            "{{ $a := print .Values.a .Values.a }}{{ $b := print $a $a $a $a $a $a $a $a }}"
            "{{ $c := print $b $b $b $b $b $b $b $b }}{{ $d := print $c $c $c $c }}",
            "megabytes",
        ),
        ("{{ .Values.a }}" * 2001, "more than 2000 actions"),
        ("{{ if `a b", "not Helm code that can be read"),
    ],
)
def test_what_a_policy_may_not_do(code: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _read(f"kind: A\nname: b\na: {code}\n")
    assert str(caught.value.location) == "a.yaml:3"


def test_a_comment_of_yaml_hides_nothing_from_helm() -> None:
    with pytest.raises(InputError, match="may read no file"):
        _read('# {{ .Files.Get "secret" }}\nkind: A\n')


_PIECE = st.sampled_from(
    ["{{", "}}", "{", "}", " ", "`", '"', "\\", "-", "/*", "*/", ".Values.a", "$", "end", "if ",
     "else", "now", "x", "(", ")", "|", "\n", "quote ", "<%", "%>", ":=", "tpl "]
)  # fmt: skip


@draws(300)
@given(st.lists(_PIECE, max_size=14).map("".join))
def test_helm_prints_what_the_outline_says(text: str) -> None:
    try:
        found = _read(text)
    except InputError:
        return
    if not found.has_code:
        assert _rendered(found.template) == found.outline


@from_table("text", "line")
def test_the_first_helm_code_of_a_text(text: str, line: int | None) -> None:
    assert first_code(text) == line


def test_no_policy_of_the_public_library_is_taken_for_helm_code() -> None:
    files = sorted(shared("conformance/policy-library").rglob("*.yaml"))
    assert len(files) > 500
    found = {file.name: first_code(file.read_text("utf-8")) for file in files}
    assert {name: line for name, line in found.items() if line is not None} == {}
