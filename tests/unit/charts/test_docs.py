"""Generated charts for their readers: pages, layers, metadata, templates, new projects."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.bundled import library_dir
from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.new_project import project_files, write_project
from chartkit.charts.plan import layered, values_file
from chartkit.charts.policies import chart as policies_chart
from chartkit.documents.reader import parse_yaml, read_text
from chartkit.errors import InputError
from chartkit.helm.chart_values import merge
from chartkit.kyverno.versions import Version
from chartkit.library.policies import read_library
from chartkit.model import Body
from chartkit.project.project import parse_project, read_project
from chartkit.render.model import Outcome
from chartkit.render.pipeline import RenderOptions, render_project

ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
_PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*/*.md"),
        *(ROOT / "docs").glob("*.md"),
    ]
)


def blocks(page: str, key: str) -> list[str]:
    found = _BLOCK.findall((ROOT / page).read_text("utf-8"))
    return [text for text in found if re.search(rf"^{key}", text, re.MULTILINE)]


@pytest.mark.parametrize("page", ["README.md", "docs/reference/chartkit-yaml.md"])
def test_a_project_file_that_a_page_shows_is_one(page: str, tmp_path: Path) -> None:
    texts = blocks(page, "environments:")
    assert texts
    (tmp_path / "known-releases.yaml").write_text("kyverno: []\n")
    for text in texts:
        (document,) = read_text(text, page)
        parse_project(document, tmp_path / "chartkit.yaml")


def test_profiles_that_a_page_shows_name_built_in_policies() -> None:
    library = read_library([library_dir()])
    texts = blocks("docs/reference/policies-chart.md", "kind: Profile")
    assert texts
    for text in texts:
        (document,) = read_text(text, "docs/reference/policies-chart.md")
        for reference in document.body["spec"]["policies"]:
            library.find(reference, document.locate("spec", "policies", reference))


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = _LINK.findall(page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


VALUES = st.recursive(
    st.one_of(st.integers(0, 2), st.booleans(), st.lists(st.integers(0, 1), max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


@given(st.lists(BODIES, min_size=1, max_size=3))
def test_files_come_to_what_each_cluster_says(bodies: list[dict[str, Any]]) -> None:
    values = {f"prd/{at}": body for at, body in enumerate(bodies)}
    files = layered({**values, "qa": bodies[0]})
    assert files["qa"] == bodies[0]
    for name, body in values.items():
        assert merge(files["prd"], files[name]) == body


def test_no_null_is_written() -> None:
    files = layered({"prd/a": {"x": {"y": 1, "z": 2}}, "prd/b": {"x": {"z": 2}}, "prd/c": {}})
    assert files == {
        "prd": {},
        "prd/a": {"x": {"y": 1, "z": 2}},
        "prd/b": {"x": {"z": 2}},
        "prd/c": {},
    }


def test_what_is_the_same_is_written_once() -> None:
    files = layered({"prd/a": {"x": {"y": 1, "z": 2}}, "prd/b": {"x": {"y": 3, "z": 2}, "w": 1}})
    assert files["prd"] == {"x": {"z": 2}}
    assert files["prd/b"] == {"x": {"y": 3}, "w": 1}


def test_names_of_values_files() -> None:
    assert [values_file(name) for name in ("prd", "prd/east")] == [
        "values_prd.yaml",
        "values_prd_east.yaml",
    ]


MAINTAINER = {"name": "platform", "email": "platform@example.com", "url": "https://example.com"}


def charts(folder: Path, **settings: object) -> tuple[Body, Body]:
    file = folder / "chartkit.yaml"
    file.write_text(
        json.dumps(
            {
                "profiles": ["supply-chain"],
                "environments": {"dev": {"kyverno": "1.19", "kubernetes": "1.35"}},
                **settings,
            }
        )
    )
    project = read_project(file)
    policies = policies_chart.plan(project).files["Chart.yaml"]
    engine = engine_chart.plan({}, ">=1.33-0", metadata=project.metadata).files["Chart.yaml"]
    return parse_yaml(engine), parse_yaml(policies)


def test_charts_have_the_version_and_the_people_of_the_project(tmp_path: Path) -> None:
    for chart in charts(
        tmp_path, chartVersion="1.4.0-rc.1", maintainers=[MAINTAINER], sources=["https://a.example"]
    ):
        assert chart["version"] == "1.4.0-rc.1"
        assert chart["maintainers"] == [MAINTAINER]
        assert chart["sources"] == ["https://a.example"]
        assert chart["appVersion"].startswith("v1.")


def test_without_settings_charts_name_kyverno_and_nobody(tmp_path: Path) -> None:
    engine, policies = charts(tmp_path)
    assert engine["version"] == policies["version"]
    assert engine["sources"] == ["https://github.com/kyverno/kyverno"]
    for chart in (engine, policies):
        assert "maintainers" not in chart
        assert chart["icon"].startswith("https://")
        assert chart["annotations"]["artifacthub.io/category"] == "security"
        assert all(isinstance(value, str) for value in chart["annotations"].values())


def test_text_of_a_project_cannot_add_fields(tmp_path: Path) -> None:
    for chart in charts(tmp_path, home="x\nname: other", icon="{{ .Values.a }}"):
        assert chart["home"] == "x\nname: other"
        assert chart["name"].startswith("kyverno")


@pytest.mark.parametrize("version", ["1.4", "v1.4.0", "1.4.0.0", "latest", "01.2.3"])
def test_a_version_that_helm_refuses_has_its_place(version: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a chart version") as caught:
        charts(tmp_path, chartVersion=version)
    assert caught.value.location is not None
    assert caught.value.location.path == "/chartVersion"


_COMMENTED = re.compile(r"^( +)# ((?:- |  )*[a-z][A-Za-z-]*:.*)$", re.MULTILINE)


def _uncommented(folder: Path, profile: str) -> Path:
    write_project(folder, project_files([profile], Version(1, 34), eks=True))
    file = folder / "chartkit.yaml"
    text = file.read_text()
    prose = "Single policies go further:", "Objects that no policy looks at:"
    assert all(each in text for each in prose)
    lines = [
        line if any(each in line for each in prose) else _COMMENTED.sub(r"\1\2", line)
        for line in text.splitlines()
    ]
    file.write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("profile", ["pss-restricted", "eks-best-practices"])
def test_they_are_read(tmp_path: Path, profile: str) -> None:
    prd = read_project(_uncommented(tmp_path, profile)).environments["prd"]
    assert [each.resources for each in prd.exclude] == [{"namespaces": ["kube-system"]}]
    assert "disallow-privileged-containers" in prd.policies


@pytest.mark.slow
def test_they_render(tmp_path: Path) -> None:
    project = read_project(_uncommented(tmp_path, "eks-best-practices"))
    done = render_project(project, RenderOptions((project.environments["prd"],)))
    assert not done.failed
    line = next(
        at
        for at, text in enumerate((tmp_path / "chartkit.yaml").read_text().splitlines(), 1)
        if "- namespaces: [kube-system]" in text
    )
    found = [row for row in done.rows if row.check == "examples"]
    assert {row.outcome for row in found} == {Outcome.NOTE, Outcome.WARNING}
    assert {f"{row.location}" for row in found} == {f"{tmp_path}/chartkit.yaml:{line}:9"}


CHARTS = Path(__file__).parents[3] / "charts"
TEMPLATES = sorted(path for path in CHARTS.rglob("templates/**/*") if path.is_file())


@pytest.mark.parametrize(
    "path", [path for path in TEMPLATES if path.suffix == ".tpl"], ids=lambda path: path.name
)
def test_helpers_begin_with_what_they_are(path: Path) -> None:
    head = path.read_text("utf-8").partition("*/}}")[0]
    assert head.startswith("{{/* ")
    assert "values are the interface" in " ".join(head.split())


def test_the_readme_of_the_engine_chart_has_every_value() -> None:
    readme = (CHARTS / "kyverno" / "README.md").read_text("utf-8")
    values = parse_yaml((CHARTS / "kyverno" / "values.yaml").read_text("utf-8"))
    assert values
    for key, value in values.items():
        assert f"\n## {key}\n" in readme or f"\n| `{key}` |" in readme
        for inner in value if isinstance(value, dict) else ():
            assert f"`{key}.{inner}`" in readme or f"| `{key}` |" in readme
