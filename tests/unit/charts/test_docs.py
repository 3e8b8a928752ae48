"""What the pages show is what chartkit takes."""

import re
from pathlib import Path

import pytest

from chartkit.bundled import library_dir
from chartkit.documents.reader import read_text
from chartkit.library.policies import read_library
from chartkit.project.project import parse_project

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
