"""`chartkit values lint`: of a file, and of a folder with values of Kyverno's charts."""

import json
from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.command import chartkit
from tests.e2e.transcript import check_page
from tests.files import write_files

_TEXTS = beside(__file__)

VALUES = _TEXTS["values"]


@pytest.mark.slow
def test_values_lint_page_is_true(tmp_path: Path, update: bool) -> None:
    (tmp_path / "values.yaml").write_text(VALUES, "utf-8")
    check_page("reference/lint.md", tmp_path, update)


@pytest.mark.slow
def test_what_is_rendered(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    budget = "{enabled: true, minAvailable: 1}"
    file.write_text(
        f"backgroundController:\n  replicas: 1\n  podDisruptionBudget: {budget}\n", "utf-8"
    )
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--ha", "-o", "json")
    assert done.code == 1
    found = {each["rule"]: each for each in json.loads(done.out)["findings"]}
    assert set(found) == {"CK111", "CK113"}
    assert found["CK113"]["location"].startswith("values.yaml:3:")


@pytest.mark.slow
@from_table("text", "rule", "place")
def test_places_are_those_that_decide(tmp_path: Path, text: str, rule: str, place: str) -> None:
    (tmp_path / "values.yaml").write_text(f"admissionController:\n  {text}\n", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--ha", "-o", "json")
    found = [each["location"] for each in json.loads(done.out)["findings"] if each["rule"] == rule]
    assert found[0] == place


@pytest.mark.slow
def test_line_ends_stay(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_bytes(b"policyExceptions:\r\n  enabled: true # ours\r\n")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--fix")
    assert done.code == 0
    mended = b"features:\r\n  policyExceptions:\r\n    enabled: true # ours\r\n"
    assert file.read_bytes() == mended
    file.write_bytes(b"replicaCount: 3\r\n")
    chartkit(tmp_path, "values", "migrate", "values.yaml", "--write")
    assert file.read_bytes() == b"admissionController:\r\n  replicas: 3\r\n"


def test_other_charts(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    (tmp_path / "mine.yaml").write_text("port: 1\n", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "mine.yaml", "--chart", "chart")
    assert (done.code, done.line) == (2, "chart: is not a chart: it has no Chart.yaml")
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n", "utf-8")
    (chart / "values.yaml").write_text("port: 2\n", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "mine.yaml", "--chart", "chart")
    assert (done.code, done.out) == (0, "errors: 0, warnings: 0, notes: 0\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", "values.yaml:2"),
        ("- a\n", "values.yaml:1: must be a mapping of values"),
        (
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: kyverno}\n",
            "values.yaml:1: is an object of kind Application, and not values",
        ),
        ("a: 1\n---\nb: 2\n", "values.yaml:3: has more than one YAML document"),
        ("a: 1\na: 2\n", "values.yaml:2:1: the key 'a' stands here a second time"),
    ],
)
def test_values_lint_refuses_wrong_input(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "values.yaml").write_text(text, "utf-8")
    for fix in ((), ("--fix",)):
        done = chartkit(tmp_path, "values", "lint", "values.yaml", *fix)
        assert (done.code, done.out) == (2, "")
        assert done.line.startswith(message)
    assert (tmp_path / "values.yaml").read_text("utf-8") == text


@pytest.mark.slow
def test_a_place_in_the_charts_own_values_names_the_chart(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--ha", "-o", "json")
    places = [each["location"] for each in json.loads(done.out)["findings"]]
    assert places
    assert all(place.startswith("<chart defaults>:") for place in places)


BROKEN = _TEXTS["broken"]


def places(out: str) -> list[tuple[str, str]]:
    found = json.loads(out)["findings"]
    return sorted((each["rule"], each["location"]) for each in found)


@pytest.mark.slow
def test_one_run_finds_all(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(BROKEN, "utf-8")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--ha", "-o", "json")
    assert done.code == 1
    found = places(done.out)
    assert [each for each in found if each[1].startswith("values.yaml")] == [
        ("CK001", "values.yaml:5:3"),
        ("CK001", "values.yaml:7:3"),
        ("CK007", "values.yaml:2:1"),
        ("CK111", "values.yaml:9:3"),
        ("CK112", "values.yaml:4:3"),
    ]
    # The reports controller, of which the file says nothing.
    assert [rule for rule, place in found if place.startswith("<chart defaults>")] == ["CK111"]


@pytest.mark.slow
def test_a_fix_that_was_refused_is_not_promised(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(BROKEN, "utf-8")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--fix")
    assert "and is set twice (remove one, and keep the other as features.policyExc" in done.out
    assert "--fix" not in done.out
    assert (tmp_path / "values.yaml").read_text("utf-8") == BROKEN


@pytest.mark.slow
def test_files_are_checked_each_by_itself_or_as_layers(tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text("admissionController: {replicas: 1}\n", "utf-8")
    (tmp_path / "prd.yaml").write_text("admissionController: {replicas: 3}\n", "utf-8")
    lint = ("values", "lint", "dev.yaml", "prd.yaml", "--ha", "-o", "json")
    each = chartkit(tmp_path, *lint)
    of_files = [place for place in places(each.out) if "<chart defaults>" not in place[1]]
    assert (each.code, of_files) == (1, [("CK111", "dev.yaml:1:23")])
    of_defaults = [
        found["message"].partition(": ")[0]
        for found in json.loads(each.out)["findings"]
        if found["location"].startswith("<chart defaults>")
    ]
    assert of_defaults == ["with dev.yaml"] * 3 + ["with prd.yaml"] * 3
    layered = chartkit(tmp_path, *lint, "--layer")
    assert all("<chart defaults>" in place for _, place in places(layered.out))
    assert "with " not in layered.out.partition("environment")[0]


UMBRELLA = "name: platform\nversion: 1.0.0\ndependencies: [{name: kyverno, alias: engine}]\n"
RELEASE = _TEXTS["release"]
MORE = _TEXTS["more"]
APPLICATION = _TEXTS["application"]
FILES = {
    "umbrella/Chart.yaml": UMBRELLA,
    "umbrella/values.yaml": "shop: {a: 1}\nengine: {admissionController: {replicaz: 1}}\n",
    "umbrella/values-qa.yaml": "shop: {a: 1}\n",
    "umbrella/templates/a.yaml": "{{ x }}\n",
    "umbrella/charts/kyverno/values.yaml": "admissionController: {replicaz: 1}\n",
    "env/kyverno-prd.yaml": "backgroundController: {replicaz: 1}\n",
    "flux/release.yaml": RELEASE,
    "flux/more.yaml": MORE,
    "flux/patch.yaml": RELEASE.partition("spec:")[0] + "spec: {suspend: true}\n",
    "flux/shop.yaml": RELEASE.replace("kyverno", "shop"),
    "policies/Chart.yaml": "name: kyverno-policies\nversion: 1.0.0\napiVersion: v2\n",
    "policies/templates/a.yaml": '{{ fail "needs more" }}\n',
    "policies/values.yaml": "a: 1\n",
    "shop/Chart.yaml": "name: shop\nversion: 1.0.0\n",
    "shop/values.yaml": "replicaz: 1\n",
    ".hidden/values.yaml": "backgroundController: {replicaz: 1}\n",
    "shop/values-open.yaml": "replicas: [\n",
    "flux/application.yaml": APPLICATION,
    "open/values.yaml": "backgroundController: [\n",
    "ci.yaml": "on: push\n",
    "shop/list.yaml": "apiVersion: v1\nkind: List\nitems: [1]\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    write_files(tmp_path / "deploy", FILES)
    return tmp_path


@pytest.mark.slow
def test_values_of_kyverno_in_a_folder_are_checked(folder: Path) -> None:
    done = chartkit(folder, "values", "lint", "deploy")
    assert done.code == 2
    assert "deploy/open/values.yaml:2:1: error unread: is not YAML" in done.out
    assert "deploy/policies/templates/a.yaml:1:3: error unread: with deploy/policies" in done.out
    wrong = [line.partition(":")[0] for line in done.out.splitlines() if "replicaz" in line]
    assert sorted(wrong) == [
        "deploy/env/kyverno-prd.yaml", "deploy/flux/more.yaml", "deploy/umbrella/values.yaml",
    ]  # fmt: skip
    left = "deploy/ci.yaml, deploy/shop/list.yaml, deploy/shop/values-open.yaml, deploy/shop/values"
    assert f"note helm: 5 files without values of Kyverno's charts: {left}" in done.out


def test_a_folder_without_values_is_an_error(folder: Path) -> None:
    done = chartkit(folder, "values", "lint", "deploy/shop")
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith("deploy/shop: holds no values of Kyverno's charts")
    assert chartkit(folder, "values", "lint", "deploy", "--layer").code == 2


def test_the_defaults_of_kyvernos_own_chart_are_not_checked(tmp_path: Path) -> None:
    chart = "apiVersion: v2\nname: kyverno\nversion: 3.3.6\n"
    generated = f"{chart}annotations: {{chartkit/kubernetes: '>=1.33-0'}}\n"
    values = "templating: {}\nadmissionController: {replicas: 3}\n"
    write_files(tmp_path, {"up/Chart.yaml": chart, "up/values.yaml": values})
    done = chartkit(tmp_path, "values", "lint", ".")
    assert done.code == 0
    note = "up/values.yaml: note helm: has the defaults of Kyverno's own chart, and is not checked"
    assert done.out.startswith(note)
    write_files(tmp_path, {"up/values_prd.yaml": values, "own/Chart.yaml": generated})
    write_files(tmp_path, {"own/values.yaml": values})
    done = chartkit(tmp_path, "values", "lint", ".")
    assert done.code == 1
    wrong = [line.partition(":")[0] for line in done.out.splitlines() if "'templating'" in line]
    assert sorted(wrong) == ["own/values.yaml", "up/values_prd.yaml"]


@pytest.mark.slow
def test_values_next_to_the_chart_of_policies_are_checked_with_it(project: Path) -> None:
    file = project / "charts/kyverno-policies/values_prd.yaml"
    file.write_text(f"{file.read_text('utf-8')}polices: {{}}\n", "utf-8")
    done = chartkit(project, "values", "lint", "charts")
    assert done.code == 1
    assert "unknown key 'polices'" in done.out


@pytest.mark.slow
def test_fixes_of_a_folder(folder: Path) -> None:
    file = folder / "deploy/env/kyverno-prd.yaml"
    file.write_text("policyExceptions: {enabled: true}\nadmissionController: {}\n", "utf-8")
    chartkit(folder, "values", "lint", "deploy/env", "deploy/open", "--fix")
    assert "features:\n" in file.read_text("utf-8")
