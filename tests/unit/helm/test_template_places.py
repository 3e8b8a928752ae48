"""helm.template_places: fields of rendered objects, in the templates and values that gave them."""

from pathlib import Path

import pytest

from chartkit.helm.render import render_chart
from chartkit.helm.template_lines import template_lines
from chartkit.model import Location, Resource
from tests.data import beside, from_table
from tests.files import write_files

_TEXTS = beside(__file__)
DEPLOYMENT = _TEXTS["deployment"]
CONFIG = _TEXTS["config"]
HELPERS = """\
{{- define "labels" -}}
app: x
{{ if .Values.debug }}debug: "true"{{ end }}
{{- end }}
"""
VALUES = _TEXTS["values"]
OVER = "image:\n  pullPolicy: Always\nreplicas: 3\n"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Resource]:
    folder = tmp_path_factory.mktemp("chart") / "app"
    files = {
        "Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
        "values.yaml": VALUES,
        "over.yaml": OVER,
        "templates/deployment.yaml": DEPLOYMENT,
        "templates/config.yaml": CONFIG,
        "templates/_helpers.tpl": HELPERS,
        "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n",
        "charts/db/values.yaml": "port: 1\nhost: h\n",
        "charts/db/templates/db.yaml": (
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: db\nspec:\n"
            "  ports:\n  - port: {{ .Values.port }}\n  externalName: {{ .Values.host }}\n"
        ),
    }
    files["values.yaml"] += "db:\n  port: 80\n"
    write_files(folder, files)
    rendered = render_chart(folder, [folder / "over.yaml"], shown=Path("app"))
    return {f"{each.kind}/{each.name}": each for each in rendered.resources}


@from_table("name", "pointer", "place")
def test_fields_are_where_a_line_of_the_template_gives_them(
    objects: dict[str, Resource], name: str, pointer: str, place: str
) -> None:
    expected = str(Path("app/templates") / place).replace("templates/../", "")
    assert str(objects[name].location.within(pointer)) == expected


@from_table("name", "pointer", "value")
def test_fields_name_the_value_that_they_show(
    objects: dict[str, Resource], name: str, pointer: str, value: str | None
) -> None:
    found = objects[name].location.value_of(pointer)
    text = "" if found is None else f"{found} {found.path}"
    assert text.rpartition("app/")[2] == (value or "")


def test_values_that_no_file_has_are_named_by_their_key(tmp_path: Path) -> None:
    chart = tmp_path / "app"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("type: NodePort\n")
    (chart / "templates/s.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {type: {{ .Values.type }} }\n"
    )
    (service,) = render_chart(chart, [{"type": "ClusterIP"}]).resources
    assert service.location.value_of("/spec/type") == Location("<values>", path="/type")


def test_a_text_that_marks_break_has_the_places_of_its_objects(
    objects: dict[str, Resource],
) -> None:
    location = objects["ConfigMap/c"].location
    assert str(location.within("/data/token")) == str(location) == "app/templates/config.yaml:2"
    assert location.value_of("/data/token") is None


def test_paths_that_lines_read_follow_the_dot() -> None:
    lines = template_lines(
        "a: {{ .Values.a }}\n{{ with .Values.b }}\nb: {{ .c }} {{ $.Values.d }}\n"
        "{{ else }}\nx: {{ .Values.e }}\n{{ end }}\n{{ range .Values.l }}\ny: {{ . }}\n{{ end }}\n"
        '{{ define "t" }}\nz: {{ .Values.z }}\n{{ end }}\n{{ $v := .Values.v }}\nv: {{ $v }}\n'
        "w: {{/* a\ncomment */}}\nu: {{ (index .Values.u 0).x }}\nn: {{ unread | ?? }}\n"
    )
    reads = {line.number: line.reads for line in lines if line.reads}
    assert reads == {
        1: [("Values", "a")],
        3: [("Values", "b", "c"), ("Values", "d")],
        5: [("Values", "e")],
        8: [None],
        11: [None],
        14: [None],
        17: [None, ("Values", "u")],
        18: [None],
    }
    assert [line.number for line in lines if line.can_be_marked] == [1, 3, 5, 8, 14, 17, 18]
