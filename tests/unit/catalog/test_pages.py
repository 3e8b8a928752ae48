"""Pages of policies: what stands in them, as text that becomes no markup, and their folder."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.bundled import library_dir
from chartkit.catalog.entries import BUILT_IN
from chartkit.catalog.markdown import block, cell_code, code, link, prose
from chartkit.catalog.pages import INDEX, MARK, differences, documented, pages, publish
from chartkit.errors import InputError
from chartkit.safe_text import markdown_rows
from tests.data import beside, from_table
from tests.errors import error_of
from tests.unit.catalog.library_files import write_lock, write_plain
from tests.unit.project.project_files import write_policy

_TEXTS = beside(__file__)

_ROOT = Path(__file__).parents[3]
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HOSTILE = _TEXTS["hostile"]
_BAD = _TEXTS["bad"]
_PAGE = f"""\
{MARK}# Mind \\| the &lt;gap&gt; \\*now\\*

|  |  |
| --- | --- |
| Policy | `ours/mine` |
| Severity | high |
| Category | \\# Ours |
| Objects | Pod |
| What it does | validate |
| Forms | ClusterPolicy |
| Kyverno | 1.6 or newer |
| Control | [Rule (1)](https://example.test/a_%28b%29) |

## Why

\\- Nobody sees the end of a \\`table \\| cell\\`. &lt;script&gt;alert(1)&lt;/script&gt; \
is text, \\$x\\$ too.

## What to change

1\\. Name it \\[so\\](javascript:alert(1)).

## Policies that help

[`others/mend-it`](../others/mend-it.md), `elsewhere`

## Parameters

| Name | Type | Default | Meaning |
| --- | --- | --- | --- |
| `level` | string, fits `^(a\\|b)$` | `"a"` | The level. |
| `names` | array of string, 1 or more of them, of "a", "b\\|c" | `["b\\|c"]` | What \\| it is. |
| `count` | integer, 1 or more, 9 or less | `2` | How many. |

## An object that it refuses

````yaml
apiVersion: v1
kind: Pod
metadata:
  name: other
  annotations:
    note: '```'
````

## An object that it accepts

```yaml
apiVersion: v1
kind: Pod
metadata:
  name: mine
```

[All policies](../README.md)
"""
_GENERATES = _TEXTS["generates"]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    root = tmp_path / "policies"
    mine = write_policy(root, "ours/mine")
    (mine / "metadata.yaml").write_text(_HOSTILE)
    (mine / "bad.yaml").write_text(_BAD)
    write_policy(root, "others/mend-it")
    (root / "parameters.yaml").write_text(
        'level: {type: string, default: a, pattern: "^(a|b)$", description: The level.}\n'
    )
    return root


def test_a_page(library: Path) -> None:
    found = pages(documented([str(library)], library.parent))
    assert list(found) == [INDEX, "others/mend-it.md", "ours/mine.md"]
    assert found["ours/mine.md"] == _PAGE


def test_the_index(library: Path) -> None:
    found = pages(documented([str(library)], library.parent))
    assert found[INDEX].startswith(f"{MARK}# Policies\n\n## others\n\n| Policy | Title |")
    assert (
        "## ours\n\n"
        "| Policy | Title | Severity | Objects | What it does | Kyverno |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| [`mine`](ours/mine.md) | Mind \\| the &lt;gap&gt; \\*now\\* | high | Pod | "
        "validate | 1.6 |\n"
    ) in found[INDEX]


def test_a_policy_in_a_library_keeps_its_place_and_its_parameters(library: Path) -> None:
    found = pages(documented([str(library / "ours" / "mine")], library.parent))
    assert list(found) == [INDEX, "ours/mine.md"]
    assert "| `level` |" in found["ours/mine.md"]
    both = [str(library / name) for name in ("others/mend-it", "ours")]
    assert pages(documented(both, library.parent)) == pages(
        documented([str(library)], library.parent)
    )


def test_a_built_in_policy_names_controls_and_profiles() -> None:
    groups = library_dir() / "other"
    (found,) = (replace(each, name=BUILT_IN) for each in documented([str(groups)], _ROOT))
    page = pages([found])["other/require-non-root-groups.md"]
    assert "| Standards | [CIS 5.2.7](https://www.cisecurity.org/benchmark/kubernetes), " in page
    assert "| Profiles | " in page
    assert "pss-baseline (switched off)" in page


def test_what_a_policy_needs_is_told(tmp_path: Path) -> None:
    write_policy(tmp_path / "lib", "make-monitors", _GENERATES)
    unknown = _GENERATES.replace("[Namespace]", "[Gizmo, Gizmo]")
    write_policy(tmp_path / "lib", "look-at-gizmos", unknown)
    found = pages(documented([str(tmp_path / "lib")], tmp_path))
    page = found["make-monitors.md"]
    row = "| background-controller | `monitoring.coreos.com` | `podmonitors` | "
    assert row in page.partition("## Permissions\n")[2]
    assert "- ConfigMap `kyverno/settings`\n" in page.partition("## What must be there\n")[2]
    assert "What its needs do not show" not in page
    left = found["look-at-gizmos.md"].partition("## What its needs do not show\n")[2]
    assert left.count("Gizmo") == 1


def test_the_cluster_around_the_examples_is_shown(library: Path) -> None:
    cluster = "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n"
    (library / "others" / "mend-it" / "cluster.yaml").write_text(cluster)
    found = pages(documented([str(library)], library.parent))
    shown = f"## What is in the cluster meanwhile\n\n```yaml\n{cluster}```\n"
    assert shown in found["others/mend-it.md"]
    assert "in the cluster meanwhile" not in found["ours/mine.md"]


def test_libraries_of_a_project_stand_side_by_side(tmp_path: Path, library: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text("library: [policies]\n")
    write_plain(tmp_path / "vendor" / "public", "best/require-team")
    write_lock(tmp_path / "vendor" / "public")
    found = pages(documented(["policies", "public"], tmp_path))
    assert list(found) == [
        INDEX,
        "policies/others/mend-it.md",
        "policies/ours/mine.md",
        "public/best/require-team.md",
    ]
    assert "[All policies](../../README.md)" in found["public/best/require-team.md"]
    assert "| Category | Tests |" in found["public/best/require-team.md"]
    names = [each.name for each in documented([], tmp_path)]
    assert names == ["chartkit", "policies", "public"]
    assert library.is_dir()


def test_names_that_mean_nothing(tmp_path: Path, library: Path) -> None:
    error = error_of(InputError, documented, ["chartkti"], tmp_path)
    assert str(error) == ("there is no library and no folder 'chartkti' (did you mean 'chartkit'?)")
    with pytest.raises(InputError, match="holds no policy"):
        documented([str(_ROOT / "docs" / "images")], tmp_path)
    write_policy(tmp_path / "other" / "policies", "a")
    with pytest.raises(InputError, match="there are two libraries 'policies'"):
        documented([str(library), str(tmp_path / "other" / "policies")], tmp_path)


def test_a_policy_named_as_the_index_is_not_lost(tmp_path: Path) -> None:
    write_policy(tmp_path / "lib", "readme")
    found = pages(documented([str(tmp_path / "lib")], tmp_path))
    assert list(found) == [INDEX, "readme-policy.md"]
    assert "(readme-policy.md)" in found[INDEX]


def test_a_folder_of_pages_is_written_and_compared(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "pages"
    first = {INDEX: f"{MARK}one\n", "a/b.md": f"{MARK}two\n"}
    assert differences(first, folder) == [
        f"{folder}/README.md: is missing",
        f"{folder}/a/b.md: is missing",
    ]
    publish(first, folder)
    assert differences(first, folder) == []
    second = {INDEX: f"{MARK}other\n", "c.md": f"{MARK}new\n"}
    assert differences(second, folder) == [
        f"{folder}/README.md: is not as the policy is now",
        f"{folder}/a/b.md: is of no policy any more",
        f"{folder}/c.md: is missing",
    ]
    publish(second, folder)
    assert differences(second, folder) == []
    assert [each.name for each in folder.parent.iterdir()] == ["pages"]


def test_what_people_wrote_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "notes.md").write_text("mine\n")
    error = error_of(InputError, publish, {INDEX: f"{MARK}one\n"}, tmp_path)
    assert str(error).startswith(f"{tmp_path}/sub/notes.md: was not written by")
    assert [each.name for each in tmp_path.iterdir()] == ["sub"]


@pytest.mark.slow
def test_the_pages_of_the_built_in_library_are_in_step() -> None:
    """`chartkit policies docs chartkit --output docs/policies` writes them anew."""
    found = pages(documented(["chartkit"], _ROOT))
    assert differences(found, _ROOT / "docs" / "policies") == []
    for path, text in found.items():
        here = (_ROOT / "docs" / "policies" / path).parent
        links = [
            link for link in _LINK.findall(_CODE.sub("", text)) if not link.startswith("https://")
        ]
        assert [link for link in links if not (here / link).is_file()] == []


def test_a_page_says_what_the_form_in_cel_leaves_out() -> None:
    """Kyverno's autogen of policies in CEL does not extend them to ReplicationControllers."""
    found = pages(documented([BUILT_IN], _ROOT))
    text = "ValidatingPolicy: ReplicationControllers, of which only the Pods count"
    assert text in found["eks-best-practices/disallow-latest-tag.md"]
    assert "Left out" not in found["eks-best-practices/disallow-bare-pods.md"]


@from_table("text", "shown")
def test_markdown_prose(text: str, shown: str) -> None:
    assert prose(text) == shown


@from_table("text", "shown")
def test_markdown_code(text: str, shown: str) -> None:
    assert code(text) == shown


def test_code_in_a_cell_keeps_the_table() -> None:
    assert markdown_rows(["A"], [[cell_code("a|b")]]) == "| A |\n| --- |\n| `a\\|b` |\n"


def test_a_block_is_longer_than_what_stands_in_it() -> None:
    assert block("x: 1\n", "yaml") == "```yaml\nx: 1\n```\n"
    assert block("a ```` b") == "`````\na ```` b\n`````\n"


def test_a_link_ends_where_it_ends() -> None:
    assert link("a", "https://x.test/a_(b) c|d#e?f=%20") == (
        "[a](https://x.test/a_%28b%29%20c%7Cd#e?f=%20)"
    )
