from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.documents.reader import read_file
from chartkit.errors import ChartkitError, InputError, RenderError
from chartkit.helm import backend as helm
from chartkit.helm.backend import VARIABLE
from chartkit.helm.chart_values import merge
from chartkit.helm.render import admit, dry_run, lint_chart, render_chart
from chartkit.model import Severity
from tests.data import from_table, tables
from tests.errors import error_of
from tests.files import write_files

CHART = tables(__file__)["chart"]


@pytest.fixture(params=["library", "helm_program", "helm3_program"])
def helm_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every test runs with Helm's library and with its programs."""
    if request.param != "library":
        monkeypatch.setenv(VARIABLE, request.getfixturevalue(request.param))
    helm.close()
    yield request.param
    helm.close()


def chart(folder: Path, **files: str) -> Path:
    root = folder / "demo"
    return write_files(root, CHART | files)


def values(folder: Path, text: str) -> Path:
    file = folder / "v.yaml"
    file.write_text(text)
    return file


def refusal(folder: Path, *files: Path, **changed: str) -> str:
    with pytest.raises(ChartkitError) as caught:
        render_chart(chart(folder, **changed), files, kube_version="v1.30.0")
    assert isinstance(caught.value, RenderError | InputError)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.usefixtures("helm_kind")
class TestBothHelms:
    def test_objects_hooks_and_crds(self, tmp_path: Path) -> None:
        found = render_chart(
            chart(tmp_path),
            release="r",
            namespace="shop",
            kube_version="v1.30.2-eks-ad4801",
            api_versions=["monitoring.coreos.com/v1"],
        )
        config, secret = sorted(found.resources, key=lambda each: each.kind)
        assert config.body["metadata"]["name"] == "r"
        assert config.namespace == "shop"
        data = {"version": "v1.30.2-eks-ad4801", "monitoring": "true"}
        assert config.body["data"] == data
        assert str(config.location) == f"{tmp_path}/demo/templates/config.yaml:2"
        assert (secret.kind, secret.location.line) == ("Secret", 15)
        assert [each.name for each in found.hooks] == ["hook"]
        assert [each.name for each in found.crds] == ["things.example.com"]

    def test_manifests_are_separated_as_helm_does(self, tmp_path: Path) -> None:
        one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        two = "---\n{{- if true -}}\n# glued\n{{ end -}}\n" + one.replace("name: a", "name: b")
        three = "--- {{- /* gone */ -}}\n" + one.replace("name: a", "name: c")
        files = {"templates/config.yaml": one + two + three}
        found = render_chart(chart(tmp_path, **files), kube_version="v1.30.0")
        names = [each.name for each in found.resources if each.kind == "ConfigMap"]
        assert sorted(names) == ["a", "b", "c"]

    def test_values_files_and_values_merge_the_last_wins(self, tmp_path: Path) -> None:
        first = values(tmp_path, "labels: {one: changed, three: third}\n")
        over = {"labels": {"two": None}}
        found = render_chart(chart(tmp_path), [first, over], kube_version="v1.30.0")
        (config,) = (each for each in found.resources if each.kind == "ConfigMap")
        labels = config.body["metadata"]["labels"]
        assert labels == {"one": "changed", "three": "third"}

    def test_a_dry_run_shows_notes_and_admits_vendor_suffixes(self, tmp_path: Path) -> None:
        done = dry_run(chart(tmp_path), release="r", kube_version="v1.34.1-eks-113cf36")
        assert done.notes.strip() == "hello r"
        assert "# Source: demo/templates/config.yaml" in done.manifest
        assert "pre-delete" not in done.manifest

    def test_a_dry_run_enforces_the_charts_range(self, tmp_path: Path) -> None:
        with pytest.raises(RenderError, match=r"requires kubeVersion.*incompatible.*v1\.35\.0"):
            dry_run(chart(tmp_path), kube_version="v1.35.0")

    def test_a_chart_that_is_only_asked_whom_it_admits(self, tmp_path: Path) -> None:
        broken = chart(tmp_path, **{"templates/bad.yaml": "{{ if }}"})
        admit(broken, kube_version="v1.34.1-eks-113cf36")
        with pytest.raises(RenderError, match=r"requires kubeVersion.*v1\.35\.0") as asked:
            admit(broken, kube_version="v1.35.0", shown=Path("shown"))
        assert str(asked.value.location) == "shown"
        with pytest.raises(RenderError) as tried:
            dry_run(chart(tmp_path / "whole"), kube_version="v1.35.0", shown=Path("shown"))
        assert str(asked.value) == str(tried.value)

    def test_notes_that_come_with_a_render(self, tmp_path: Path) -> None:
        sub = "charts/sub/"
        files = {
            "values.schema.json": "{}",
            f"{sub}Chart.yaml": "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
            f"{sub}templates/NOTES.txt": "hello from below\n",
        }
        folder = chart(tmp_path, **files).rename(tmp_path / "elsewhere")
        found = render_chart(folder, release="r", kube_version="v1.34.0")
        shown = dry_run(folder, release="r", kube_version="v1.34.0").notes
        assert found.notes == shown
        assert not [file for file in found.texts if file.endswith("NOTES.txt")]

    def test_a_template_that_fails(self, tmp_path: Path) -> None:
        text = refusal(tmp_path, values(tmp_path, "count: 7\n"))
        place = "demo/templates/config.yaml:12:3: "
        assert text == f"{place}Helm cannot render the chart: seven is too many"

    def test_a_template_that_cannot_be_parsed(self, tmp_path: Path) -> None:
        text = refusal(tmp_path, **{"templates/bad.yaml": "\n\n{{ if }}\n"})
        assert text.startswith("demo/templates/bad.yaml:3: Helm cannot render the chart: missing")

    def test_render_values_that_the_schema_refuses(self, tmp_path: Path) -> None:
        text = refusal(tmp_path, values(tmp_path, "labels: {}\ncount: many\n"))
        assert text == "v.yaml:2:1: the chart's schema refuses 'count': got string, want integer"

    def test_a_key_that_the_schema_does_not_know(self, tmp_path: Path) -> None:
        text = refusal(tmp_path, values(tmp_path, "labels: {}\n\ncuont: 1\n"))
        assert text.startswith("v.yaml:3:1: the chart's schema refuses 'cuont': additional")

    def test_a_folder_that_is_no_chart(self, tmp_path: Path) -> None:
        error = error_of(RenderError, render_chart, tmp_path / "nothing")
        assert str(error.location) == f"{tmp_path}/nothing"

    def test_lint_finds_what_rendering_does_not_see(self, tmp_path: Path) -> None:
        folder = chart(tmp_path, **{"templates/bad.yaml": "x: y: z\n"})
        found = lint_chart(folder, kube_version="v1.30.0")
        errors = [each for each in found if each.severity is Severity.ERROR]
        assert len(errors) == 1
        assert str(errors[0].location) == f"{folder}/templates/bad.yaml"
        assert "mapping values are not allowed" in errors[0].message

    def test_lint_of_a_good_chart(self, tmp_path: Path) -> None:
        found = lint_chart(chart(tmp_path), kube_version="v1.30.0")
        assert {each.severity for each in found} <= {Severity.NOTE}


@pytest.mark.parametrize(("schema", "severity"), [(True, {Severity.ERROR}), (False, set())])
def test_lint_without_the_schema(tmp_path: Path, schema: bool, severity: set[Severity]) -> None:
    given = values(tmp_path, "count: many\n")
    found = lint_chart(chart(tmp_path), [given], kube_version="v1.30.0", schema=schema)
    assert {each.severity for each in found} - {Severity.NOTE} == severity


def test_a_plan_renders_as_the_folder_does(tmp_path: Path) -> None:
    files = {name: text for name, text in CHART.items() if name != "values.yaml"}
    plan = ChartPlan("demo", files, {"values.yaml": CHART["values.yaml"]})
    from_plan = render_chart(plan, kube_version="v1.30.0")
    from_folder = render_chart(chart(tmp_path), kube_version="v1.30.0")
    assert from_plan.texts == from_folder.texts
    assert str(from_plan.resources[0].location) == "demo/templates/config.yaml:2"


@from_table("text", "expected")
def test_what_is_rendered_must_be_objects(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(tmp_path, **{"templates/bad.yaml": text}).startswith(expected)


def test_a_message_without_end_is_short_and_what_is_not_loaded_has_its_line(tmp_path: Path) -> None:
    text = '{{- define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}'
    said = refusal(tmp_path, **{"templates/bad.yaml": text})
    assert len(said) < 1000
    assert "nested reference" in said
    said = refusal(tmp_path, **{"values.yaml": "a: 1\nb: [\n"})
    assert said.startswith("demo/values.yaml:3:1: Helm refuses the chart: cannot load values.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", "v.yaml:2:1: is not YAML"),
        ("- 1\n", "v.yaml:1: must be a mapping of values"),
        ("a: 1\n---\nb: 1\n", "v.yaml:3: has more than one YAML document"),
        ("a:\n  b: 1\n  b: 2\n", "v.yaml:3:3: the key 'b' stands here a second time"),
    ],
)
def test_values_files_that_cannot_be_used(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(tmp_path, values(tmp_path, text)).startswith(expected)


def test_a_values_file_that_was_read_is_named_as_it_was_read(tmp_path: Path) -> None:
    document = read_file(values(tmp_path, "count: many\n"))[0]
    error = error_of(RenderError, render_chart, chart(tmp_path), [document])
    assert str(error.location) == f"{tmp_path}/v.yaml:1:1"


def test_messages_speak_of_the_folder_that_is_shown(tmp_path: Path) -> None:
    folder = chart(tmp_path, **{"templates/bad.yaml": "{{ if }}"})
    error = error_of(RenderError, render_chart, folder, shown=Path("charts/demo"))
    assert str(error.location) == "charts/demo/templates/bad.yaml:1"


def test_merging_changes_neither_side() -> None:
    base, over = {"a": {"b": 1}, "c": [1]}, {"a": {"d": None}, "c": [2]}
    assert merge(base, over) == {"a": {"b": 1, "d": None}, "c": [2]}
    assert (base, over) == ({"a": {"b": 1}, "c": [1]}, {"a": {"d": None}, "c": [2]})


def test_a_helm_program_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "helm"))
    helm.close()
    try:
        with pytest.raises(RenderError, match="cannot be started: No such file"):
            render_chart(chart(tmp_path))
    finally:
        helm.close()


@pytest.mark.usefixtures("helm_kind")
def test_a_variable_of_kyvernos_in_a_text_of_the_values_is_explained(tmp_path: Path) -> None:
    folder = chart(tmp_path)
    (folder / "templates" / "own.yaml").write_text("{{ tpl .Values.labels.own $ }}\n")
    own = {"labels": {"own": "a: {{ request.object.metadata.name }}"}}
    error = error_of(RenderError, render_chart, folder, [own], kube_version="v1.34.0")
    assert error.message == ('Helm cannot run a text of the values: function "request" not defined')
    assert error.hint is not None
    assert "{{ `{{ x }}` }}" in error.hint
    place = error.location
    assert place is not None
    assert (place.file, place.line) == (str(folder / "templates" / "own.yaml"), 1)


def test_what_a_chart_puts_into_a_message_is_cut_and_read_in_one_pass(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    for length in (1_000, 400_000):
        (tmp_path / "Chart.yaml").write_text(
            f"apiVersion: v2\nname: demo\nversion: {'a' * length}\n", "utf-8"
        )
        error = error_of(RenderError, render_chart, tmp_path)
        assert "Helm refuses the chart" in error.message
        assert len(error.message) < 400
