import os
from pathlib import Path

import pytest

from chartkit.helm.kustomize.kustomization import Repository, Tree
from tests.data import from_table
from tests.unit.helm.kustomize.conftest import POD, Write

PREFIX = "namePrefix: a-\n"


def _relative(paths: list[str] | set[str]) -> list[str]:
    return sorted(os.path.relpath(each) for each in paths)


def test_roots_are_what_nothing_else_refers_to(tree: Write) -> None:
    found = tree(
        {
            "base/kustomization.yaml": "resources: [pod.yaml]\n" + PREFIX,
            "base/pod.yaml": POD,
            "overlays/dev/kustomization.yaml": "resources: [../../base]\npatches: [{path: p.yaml}]",
            "overlays/dev/p.yaml": POD,
            "overlays/prd/kustomization.yml": "resources: [../../base]\ncomponents: [../../part]",
            "part/kustomization.yaml": "kind: Component\npatches: [{path: p.yaml}]\n",
            "part/p.yaml": POD,
            "unused/kustomization.yaml": "kind: Component\nresources: [p.yaml]\n",
            "unused/p.yaml": POD,
            "flux/kustomization.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\n",
            "other/pod.yaml": POD,
        }
    )
    assert _relative(found.builds) == ["overlays/dev", "overlays/prd"]
    [unused] = found.rows
    assert str(unused).startswith(
        "unused/kustomization.yaml: note scan-input: is a component that no kustomization here"
    )
    assert not found.plain
    left = {"flux/kustomization.yaml", "other/pod.yaml"}
    everything = {os.path.relpath(each) for each in Path().rglob("*.y*ml")}
    assert {*_relative(found.taken)} == everything - left


def test_what_changes_nothing_is_not_built(tree: Write) -> None:
    found = tree(
        {
            "kustomization.yaml": "resources: [pod.yaml, apps, changed]\npatches: []\n",
            "pod.yaml": POD,
            "apps/Kustomization": "bases: [../more]\n",
            "more/kustomization.yaml": "resources: [pod.yaml]\n",
            "more/pod.yaml": POD,
            "changed/kustomization.yaml": "resources: [pod.yaml]\n" + PREFIX,
            "changed/pod.yaml": POD,
        }
    )
    assert _relative(found.builds) == ["changed"]
    assert _relative(found.plain) == ["more/pod.yaml", "pod.yaml"]
    assert "pod.yaml" not in _relative(found.taken)
    assert "changed/pod.yaml" in _relative(found.taken)


@pytest.mark.parametrize("text", ["resources: x", "bases: {a: b}", "resources: [1, pod.yaml]"])
def test_lists_of_another_type_are_left_to_kustomize(tree: Write, text: str) -> None:
    assert _relative(tree({"kustomization.yaml": text, "pod.yaml": POD}).builds) == ["."]


def test_what_the_user_leaves_out_is_not_read(tree: Write) -> None:
    tree(
        {
            "kustomization.yaml": "resources: [pod.yaml, secret.yaml, .more/pod.yaml, out]\n",
            "pod.yaml": POD,
            "secret.yaml": POD,
            ".more/pod.yaml": POD,
            "out/kustomization.yaml": f"resources: ['https://example.com/a']\n{PREFIX}",
        }
    )
    found = Tree.of(Path(), [Path("kustomization.yaml"), Path("pod.yaml")])
    assert not found.builds
    assert not found.rows
    assert _relative(found.plain) == [".more/pod.yaml", "pod.yaml"]
    assert found.others() == [Path(".more/pod.yaml")]


def test_circles_are_left_to_kustomize(tree: Write) -> None:
    found = tree(
        {
            "a/kustomization.yaml": "resources: [../b]\n" + PREFIX,
            "b/kustomization.yaml": "resources: [../a]\n" + PREFIX,
        }
    )
    assert _relative(found.builds) == ["a"]
    # Of those that change nothing it is not asked.
    files = {
        f"{one}/kustomization.yaml": f"resources: [../{other}]\n" for one, other in ("xy", "yx")
    }
    files["z/kustomization.yaml"] = "resources: []\n"
    [row] = tree(files | {"x/kustomization.yaml": "resources: [../y, ../z]\n"}).rows
    assert str(row).startswith("x/kustomization.yaml: error unread: leads to itself")


@from_table("text", "row")
def test_what_is_refused_has_a_row(tree: Write, tmp_path: Path, text: str, row: str) -> None:
    (tmp_path / "secret.yaml").write_text(POD, "utf-8")
    (tmp_path / "repo" / "app").mkdir()
    (tmp_path / "repo" / "app" / "out.yaml").symlink_to(tmp_path / "secret.yaml")
    function = "metadata: {annotations: {config.kubernetes.io/function: 'exec: {path: ./run}'}}\n"
    files = {
        "app/kustomization.yaml": text + "",
        "app/pod.yaml": POD,
        "app/exec.yaml": f"apiVersion: x/v1\nkind: Exec\n{function}",
    }
    os.mkfifo("app/pipe")
    found = tree(files)
    [one] = found.rows
    assert one.rule_id == "unread"
    assert f"{one.location}: {one.message}".startswith(f"app/kustomization.yaml{row}")
    assert "app/kustomization.yaml" in _relative(found.taken)


def test_plugins_of_kustomize_are_run(tree: Write) -> None:
    plugin = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: p.yaml\n"
    text = "resources: [pod.yaml]\ntransformers: [plugin.yaml]\n"
    found = tree(
        {"kustomization.yaml": text, "pod.yaml": POD, "plugin.yaml": plugin, "p.yaml": POD}
    )
    assert not found.rows
    assert "p.yaml" in _relative(found.taken)


def test_the_repository_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a")
    assert Repository.around(Path("b")).top == str(tmp_path / "a")
    assert Repository.around(Path("b")).name(str(tmp_path / "a" / "x.yaml")) == "x.yaml"
    monkeypatch.chdir("/")
    assert Repository.around(folder).top in ("/", str(folder))
    (tmp_path / ".git").mkdir()
    assert Repository.around(folder).top == str(tmp_path)


def test_a_tree_without_kustomizations_reads_nothing(tmp_path: Path) -> None:
    found = Tree.of(tmp_path, [tmp_path / "pod.yaml"])
    assert not found.taken
    assert not found.rows


def test_references_of_one_kind_have_one_row_a_file(tree: Write) -> None:
    found = tree(
        {"kustomization.yaml": "resources: ['https://x.io/a', gone.yaml, 'https://x.io/b']\n"}
    )
    assert [(str(row.location), row.message) for row in found.rows] == [
        (
            "kustomization.yaml:1:13",
            "'https://x.io/a' is elsewhere, and is not downloaded; 1 more of the kind in this file",
        ),
        ("kustomization.yaml:1:31", "there is no 'gone.yaml'"),
    ]
