"""Edits of charts: of the one value that decides a field, or the template's own lines."""

from pathlib import Path

import pytest

from tests.addons.satisfy.fix.runs import fix, written
from tests.data import beside, from_table

_TEXTS = beside(__file__)

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
POD = _TEXTS["pod"]
VALUES = _TEXTS["values"]


def chart(folder: Path, template: str = POD, values: str = VALUES, **more: str) -> Path:
    """Write a chart; return its folder."""
    texts = {"objects/Chart": CHART, "objects/values": values, "objects/templates/pod": template}
    return written(folder, **texts, **more)


def test_values_are_changed_that_a_field_shows_or_that_set_it(tmp_path: Path) -> None:
    folder = chart(tmp_path)
    done = fix(folder)
    assert done.exit_code == 0, done.stdout
    assert (folder / "values.yaml").read_text() == (
        "# whether the node's network is used\nhost: false\ncontainer:\n"
        "  securityContext:   # none\n    allowPrivilegeEscalation: false\n"
    )
    assert (folder / "templates/pod.yaml").read_text() == POD
    assert f"fixed {folder}/values.yaml: 2 violations of 1 object, 2 fields\n" in done.stdout


def test_a_value_that_gives_all_of_a_mapping_gets_the_new_field(tmp_path: Path) -> None:
    values = VALUES.replace("true", "false").replace("{}   # none", "{runAsNonRoot: true}")
    folder = chart(tmp_path, values=values)
    done = fix(folder)
    assert done.exit_code == 0, done.stdout
    assert (folder / "values.yaml").read_text() == values.replace(
        "{runAsNonRoot: true}", "{runAsNonRoot: true, allowPrivilegeEscalation: false}"
    )
    assert (folder / "templates/pod.yaml").read_text() == POD


_PLAIN = POD[: POD.index("      {{- with")].replace("{{ .Values.host }}", "true")


@pytest.mark.parametrize(
    ("pod", "file", "line"),
    [(POD, "values", "host: false\n"), (_PLAIN, "templates/pod", "hostNetwork: false\n")],
)
def test_the_files_of_a_chart_beside_another_are_edited(
    tmp_path: Path, pod: str, file: str, line: str
) -> None:
    """A chart on which another depends is edited itself, and so is the plain YAML of both."""
    beside = 'dependencies: [{name: sub, version: 1.0.0, repository: "file://../sub"}]\n'
    texts = {
        "web/Chart": CHART + beside,
        "web/templates/pod": _PLAIN,
        "sub/Chart": CHART.replace("web", "sub"),
        "sub/templates/pod": pod.replace("name: web", "name: sub"),
        "sub/values": VALUES,
    }
    folder = written(tmp_path, **{f"objects/{name}": text for name, text in texts.items()})
    done = fix(folder)
    assert done.exit_code == 0, done.stdout
    assert "not fixed" not in done.stdout
    edited = folder / f"sub/{file}.yaml"
    assert line in edited.read_text()
    assert "hostNetwork: false" in (folder / "web/templates/pod.yaml").read_text()
    # With one of them alone, the other's file is named and stays.
    before = texts[f"sub/{file}"]
    edited.write_text(before)
    alone = fix(folder, path=str(folder / "web"))
    assert alone.exit_code == 1
    assert "the file is outside of the inputs" in alone.stdout
    assert str(edited) in alone.stdout
    assert edited.read_text() == before


_EMPTY = "      securityContext: {}\n"
_OF_VALUES = "      securityContext:\n        {{- toYaml $c | nindent 8 }}\n".replace(
    "$c", ".Values.container.securityContext"
)
_SET = "      securityContext:\n        allowPrivilegeEscalation: false\n"


@pytest.mark.parametrize(("field", "wanted"), [(_EMPTY, _SET), (_OF_VALUES, _OF_VALUES)])
def test_an_empty_field_is_set_where_it_comes_from(tmp_path: Path, field: str, wanted: str) -> None:
    plain = POD[: POD.index("      {{- with")]
    folder = chart(tmp_path, plain + field)
    done = fix(folder)
    assert done.exit_code == 0, done.stdout
    assert (folder / "templates/pod.yaml").read_text() == plain + wanted


def test_the_last_values_file_with_the_key_is_changed(tmp_path: Path) -> None:
    folder = chart(tmp_path, **{"objects/prd": "host: true\n"})
    before = (folder / "values.yaml").read_text()
    done = fix(folder, "-f", str(folder / "prd.yaml"), "--select", "rule:host")
    assert done.exit_code == 0, done.stdout
    assert (folder / "prd.yaml").read_text() == "host: false\n"
    assert (folder / "values.yaml").read_text() == before


def test_what_a_template_writes_itself_is_changed_there(tmp_path: Path) -> None:
    template = beside(__file__)["template"]
    wanted = template.replace("hostNetwork: true  #", "hostNetwork: false  #")
    field = "      securityContext:\n        allowPrivilegeEscalation: false\n"
    wanted = wanted.replace("      # where", f"{field}      # where")
    wanted = wanted.replace("      name: other", f"{field}      name: other")
    folder = chart(tmp_path, template, "name: web\n")
    done = fix(folder)
    assert (folder / "templates/pod.yaml").read_text() == wanted
    assert f"fixed {folder}/templates/pod.yaml: 2 violations of 1 object, 3 fields" in done.stdout
    assert done.exit_code == 0


def test_line_ends_of_a_template_stay(tmp_path: Path) -> None:
    template = POD.replace("{{ .Values.host }}", "true").replace("\n", "\r\n")
    folder = chart(tmp_path, template)
    fix(folder)
    assert (folder / "templates/pod.yaml").read_bytes() == (
        template.replace("hostNetwork: true", "hostNetwork: false").encode()
    )


@from_table("old", "new")
def test_what_code_of_a_template_writes_is_listed_with_its_line(
    tmp_path: Path, old: str, new: str
) -> None:
    template = POD.replace(old, new)
    folder = chart(tmp_path, template)
    done = fix(folder)
    assert (folder / "templates/pod.yaml").read_text() == template
    lines = done.stdout.splitlines()
    assert lines[2] == (
        "  Pod/default/web pods/host: the chart's template decides it, and no value of the chart"
    )
    assert lines[3].startswith(f"    {folder}/templates/pod.yaml:6")
    assert done.exit_code == 1


def test_a_field_is_added_in_the_block_of_its_mapping_alone(tmp_path: Path) -> None:
    """A field beside one that a condition writes would come and go with that."""
    template = POD[: POD.index("      {{- with")].replace("{{ .Values.host }}", "false")
    template = template.replace(
        "    - name: web\n", "    - {{ if .Values.host }}name: web{{ end }}\n"
    )
    template += "      {{- if .Values.host }}\n      image: web\n      {{- end }}\n"
    folder = chart(tmp_path, template)
    done = fix(folder)
    assert (folder / "templates/pod.yaml").read_text() == template
    assert "the chart's template decides it, and no value of the chart" in done.stdout


def test_a_person_decides_between_several_values(tmp_path: Path) -> None:
    template = POD.replace(
        ".Values.container.securityContext",
        "(.Values.securityContext | default .Values.container.securityContext)",
    )
    folder = chart(tmp_path, template, f"{VALUES}securityContext: {{}}\n")
    done = fix(folder)
    said = "several values decide it: container.securityContext, securityContext"
    assert f"a person decides:\n  Pod/default/web pods/escalation: {said}\n" in done.stdout


def test_a_decision_is_listed_at_the_value(tmp_path: Path) -> None:
    policy = beside(__file__)["policy"]
    template = f"{POD}      image: {{{{ .Values.image }}}}\n"
    folder = chart(tmp_path, template, f"{VALUES}image: a\n", **{"policies/images": policy})
    done = fix(folder, "--select", "policy:images")
    assert done.stdout.startswith("a person decides:\n  Pod/default/web images/registry: spec.")
    assert done.stdout.splitlines()[2] == f"    {folder}/values.yaml:5:1"


def test_a_value_that_two_objects_want_otherwise_is_listed(tmp_path: Path) -> None:
    other = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {host: '{{ .Values.host }}'}"
    )
    policy = beside(__file__)["a_value_that_two_objects_want_otherwise_is_listed"]
    texts = {"policies/maps": policy, "objects/templates/map": other}
    folder = chart(tmp_path, **texts)
    done = fix(folder)
    assert "host: true\n" in (folder / "values.yaml").read_text()
    assert "Pod/default/web pods/host: the value 'host'" in done.stdout
    assert "fail: 1" in done.stdout


def test_values_of_a_subchart_are_changed_where_they_are(tmp_path: Path) -> None:
    sub = {
        "objects/charts/db/Chart": CHART.replace("web", "db"),
        "objects/charts/db/values": "host: true\n",
        "objects/charts/db/templates/pod": POD.replace("name: web", "name: db").replace(
            ".container.", ".pod."
        ),
    }
    folder = chart(tmp_path, "", "db:\n  pod:\n    securityContext: {}\n", **sub)
    done = fix(folder)
    assert done.exit_code == 0, done.stdout
    assert (folder / "charts/db/values.yaml").read_text() == "host: false\n"
    assert (folder / "values.yaml").read_text() == (
        "db:\n  pod:\n    securityContext:\n      allowPrivilegeEscalation: false\n"
    )


def test_values_of_a_release_are_listed(tmp_path: Path) -> None:
    """What the object itself gives comes before the chart's file, even if both are equal."""
    release = beside(__file__)["release"]
    (tmp_path / ".git").mkdir()
    chart(tmp_path / "objects")
    (tmp_path / "objects/objects").rename(tmp_path / "objects/chart")
    objects = written(tmp_path, release=release.replace("./chart", "./objects/chart"))
    done = fix(objects)
    said = "Pod/shop/web pods/host: the file has the values in the object of a release\n"
    assert f"{said}    {objects}/release.yaml:6:12\n" in done.stdout
    assert (objects / "release.yaml").read_text().endswith("values: {host: true}\n")
    # The chart is among the inputs by itself, too.
    assert (objects / "chart/values.yaml").read_text().splitlines()[1] == "host: false"
