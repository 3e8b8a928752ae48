"""Templates that would take all memory, all time or the process: each ends as one line."""

from collections.abc import Iterator

import pytest

from chartkit.errors import RenderError
from chartkit.helm import backend
from chartkit.helm.gateway import Gateway
from chartkit.helm.model import ChartError, Target
from chartkit.helm.sandbox.process import Limits
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
    with pytest.raises(RenderError) as caught:
        gateway.render(folder, {}, _TARGET)
    assert "goroutine" not in caught.value.message
    if name not in _REFUSED_BY_HELM:
        assert isinstance(caught.value, ChartError)
        assert caught.value.message.startswith("Helm was stopped: it ")
        assert "\n" not in caught.value.message
        assert caught.value.file in ("templates/b.yaml", *[""] * (name == "much output"))
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
    with pytest.raises(ChartError) as caught:
        gateway.render(chart(files), {}, _TARGET)
    # Templates of a subchart that is off are never reached: better no name than a wrong one.
    assert caught.value.file in (off, "")
