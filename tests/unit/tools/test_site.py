"""The documentation as a site, built as strictly as `make site` does."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from chartkit import SITE
from chartkit.addons.operate.commands.facts import read_facts
from chartkit.cli.schema import schemas
from tests.data import beside

ROOT = Path(__file__).parents[3]
CONFIGURATION = beside(__file__)["configuration"]


def build(folder: Path, site: Path, repository: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(site)],
        cwd=folder,
        env={"NO_MKDOCS_2_WARNING": "1", "CHARTKIT_REPOSITORY": repository, "LC_ALL": "C.UTF-8"},
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    for name in ("README", "troubleshooting", "security", "architecture", "how-to/scan"):
        file = tmp_path / "docs" / f"{name}.md"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(f"# {name}\n")
    for name in ("start", "reference", "background", "policies"):
        (tmp_path / "docs" / name).mkdir()
        (tmp_path / "docs" / name / "README.md").write_text(f"# {name}\n")
    hooks = f"hooks: [{ROOT / 'tools' / 'site.py'}]\n"
    (tmp_path / "mkdocs.yml").write_text(CONFIGURATION + hooks)
    return tmp_path


def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.slow
def test_site_of_the_documentation_is_built_strictly(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    scan = (tmp_path / "site" / "reference" / "scan.html").read_text()
    assert "<code>--helm library|program|PATH</code>" in scan
    for file in (tmp_path / "site" / "schemas").iterdir():
        address: str = json.loads(file.read_text("utf-8"))["$id"]
        assert address == f"{SITE}schemas/{file.name}"
    facts = tmp_path / "site" / "facts.yaml"
    read_facts(facts.read_bytes(), "facts.yaml")
    assert facts.with_name("facts.yaml.sha256").read_text() == f"{digest_of(facts)}  facts.yaml\n"
    served = {each.name for each in (tmp_path / "site" / "schemas").iterdir()}
    assert served == {f"{name}.schema.json" for name in schemas()}


@pytest.mark.parametrize("link", ["[page](nowhere.md)", "[anchor](how-to/scan.md#nowhere)"])
def test_link_that_leads_nowhere_fails_the_site(pages: Path, link: str) -> None:
    (pages / "docs" / "README.md").write_text(f"# Pages\n\n{link}\n")
    done = build(pages, pages / "site")
    assert done.returncode == 1
    assert "nowhere" in done.stderr


def test_links_out_of_the_documentation_lead_to_the_repository(pages: Path) -> None:
    (pages / "docs" / "how-to" / "scan.md").write_text(
        "# Scan\n\n[the code](../../tools/scan.py#L1), [security](../security.md)\n"
    )
    done = build(pages, pages / "site", "https://git.example.com/chartkit/")
    assert done.returncode == 0, done.stderr
    page = (pages / "site" / "how-to" / "scan.html").read_text()
    assert 'href="https://git.example.com/chartkit/blob/HEAD/tools/scan.py#L1"' in page
    assert 'href="../security.html"' in page


@pytest.mark.slow
def test_link_out_of_the_documentation_is_text_without_a_repository(pages: Path) -> None:
    (pages / "docs" / "README.md").write_text("# Pages\n\nSee [the code](../tools/scan.py).\n")
    assert build(pages, pages / "site").returncode == 0
    assert "<p>See the code.</p>" in (pages / "site" / "index.html").read_text()
