"""What the index makes of libraries, and when it reads them again."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from chartkit.cache_folder import cache_folder
from chartkit.catalog import entries
from chartkit.catalog.entries import RECENT, Unit, libraries, read_catalogue, read_index
from chartkit.catalog.model import Entry, Kind
from chartkit.errors import InputError
from tests.data import from_table
from tests.unit.catalog.library_files import CEL_POLICY, POLICY, write_lock, write_plain
from tests.unit.project.project_files import write_policy

_RULE = "    - name: r\n      {}: {{{{}}}}\n"


def _entries(root: Path) -> dict[str, Entry]:
    return {entry.reference: entry for entry in read_index("lib", root).entries}


def _settle(root: Path) -> None:
    """Files are as old as files are that nobody has just written."""
    old = time.time_ns() - 10**9
    for path in root.rglob("*"):
        os.utime(path, ns=(old, old))
    time.sleep(0.15)


def test_a_policy_as_kyverno_reads_it(tmp_path: Path) -> None:
    file = write_plain(tmp_path, "best/require-probes", name="probes", title="Ask for probes")
    (entry,) = read_index("lib", tmp_path).entries
    assert entry == Entry(
        library="lib",
        reference="best/require-probes",
        name="probes",
        title="Ask for probes",
        description="Says what probes asks for.",
        category="Tests",
        severity="medium",
        subjects=("Pod", "Deployment"),
        kinds=("validate",),
        forms=("ClusterPolicy",),
        minimum="1.6",
        file=str(file),
        line=1,
        own=False,
    )
    assert entry.qualified == "lib/best/require-probes"
    assert str(entry.location) == f"{file}:1"


def test_a_policy_in_chartkits_format(tmp_path: Path) -> None:
    folder = write_policy(tmp_path, "ours/mine", minimum="1.9")
    (folder / "cel.yaml").write_text(CEL_POLICY.format(kind="ValidatingPolicy", name="mine"))
    case = folder / "cases" / "one"
    case.mkdir(parents=True)
    (case / "good.yaml").write_text(POLICY.format(name="an-example", title="x", category="x"))
    (entry,) = read_index("lib", tmp_path).entries
    assert (entry.reference, entry.minimum, entry.own) == ("ours/mine", "1.9", True)
    assert entry.forms == ("ClusterPolicy", "ValidatingPolicy")
    assert entry.kinds == ("validate",)
    assert entry.subjects == ("Pod",)
    assert entry.file == str(folder / "policy.yaml")


@pytest.mark.parametrize(
    ("kind", "does", "minimum"),
    [
        ("ValidatingPolicy", Kind.VALIDATE, "1.14"),
        ("MutatingPolicy", Kind.MUTATE, "1.15"),
        ("GeneratingPolicy", Kind.GENERATE, "1.15"),
        ("DeletingPolicy", Kind.CLEANUP, "1.15"),
        ("ImageValidatingPolicy", Kind.IMAGE, "1.14"),
        ("NamespacedValidatingPolicy", Kind.VALIDATE, "1.16"),
    ],
)
def test_policies_in_cel(tmp_path: Path, kind: str, does: Kind, minimum: str) -> None:
    write_plain(tmp_path, "a/b", CEL_POLICY, kind=kind)
    (entry,) = read_index("lib", tmp_path).entries
    assert (entry.kinds, entry.forms, entry.minimum) == ((does,), (kind,), minimum)
    assert (entry.title, entry.subjects) == ("b", ("pods",))


@from_table("keys", "kinds")
def test_rules_say_what_a_policy_does(tmp_path: Path, keys: list[str], kinds: list[str]) -> None:
    rules = "".join(_RULE.format(key) for key in keys)
    text = POLICY.partition("  rules:\n")[0] + (f"  rules:\n{rules}" if rules else "  rules: 3\n")
    write_plain(tmp_path, "a/b", text)
    assert list(_entries(tmp_path)["a/b"].kinds) == kinds


def test_a_claim_is_not_believed_where_fields_need_more(tmp_path: Path) -> None:
    text = POLICY.replace("pattern:", "podSecurity: {{}}\n        x:")
    write_plain(tmp_path, "a/b", text)
    write_plain(tmp_path, "a/c", POLICY.replace("1.6.0", "1.12.3"))
    write_plain(tmp_path, "a/d", POLICY.replace("1.6.0", "soon"))
    assert [entry.minimum for entry in _entries(tmp_path).values()] == ["1.8", "1.12", "1.6"]


def test_several_policies_of_a_folder_are_told_apart(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b")
    (tmp_path / "a/b/two.yaml").write_text(
        POLICY.format(name="x", title="x", category="x")
        + "---\n"
        + POLICY.format(name="z", title="z", category="z")
    )
    (tmp_path / "top.yml").write_text(POLICY.format(name="t", title="t", category="t"))
    found = _entries(tmp_path)
    assert list(found) == ["a/b/b", "a/b/two/x", "a/b/two/z", "top"]
    assert found["a/b/two/z"].line == found["a/b/two/x"].line + POLICY.count("\n") + 1


def test_what_is_no_policy_is_passed_over(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b")
    (tmp_path / "a/b/artifacthub-pkg.yml").write_text("name: b\nannotations: {kind: Policy}\n")
    (tmp_path / "a/b/net.yaml").write_text(
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x}\nspec: {}\n"
    )
    hidden = tmp_path / ".chainsaw-test"
    hidden.mkdir()
    (hidden / "p.yaml").write_text(POLICY.format(name="h", title="h", category="h"))
    chart = tmp_path / "chart" / "templates"
    chart.mkdir(parents=True)
    (chart.parent / "Chart.yaml").write_text("name: chart\n")
    (chart / "p.yaml").write_text(POLICY.format(name="h", title="h", category="h"))
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a/b/b.yaml")
    found = read_index("lib", tmp_path)
    assert [entry.reference for entry in found.entries] == ["a/b"]
    assert found.problems == ()


def test_what_cannot_be_read_is_a_problem_and_the_rest_is_there(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b")
    for name, content in (
        ("broken.yaml", b"kind: Policy\na: [\n"),
        ("latin.yaml", b"kind: Policy # \xe9\n"),
        ("huge.yaml", b"# Policy\n" * 300_000),
    ):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/policy.yaml").write_text("kind: ClusterPolicy\n")
    (tmp_path / "mine/metadata.yaml").write_text("[]\n")
    found = read_index("lib", tmp_path)
    assert [entry.reference for entry in found.entries] == ["a/b"]
    names = [problem.split(":")[0].rpartition("/")[2] for problem in found.problems]
    assert sorted(names) == ["broken.yaml", "huge.yaml", "latin.yaml", "metadata.yaml"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_index("lib", tmp_path / "nowhere")


def test_no_text_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    write_plain(tmp_path, "a/b", title='"Red \\e[31m\\u202e line\\n two"')
    assert _entries(tmp_path)["a/b"].title == "Red [31m line two"


def test_what_did_not_change_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plain(tmp_path, "a/b")
    changed = write_plain(tmp_path, "a/c")
    _settle(tmp_path)
    before = read_index("lib", tmp_path)
    read: list[str] = []
    real = entries._unit

    def counting(folder: str, *rest: Any) -> Unit:
        read.append(folder)
        return real(folder, *rest)

    monkeypatch.setattr(entries, "_unit", counting)
    assert read_index("lib", tmp_path) == before
    assert read == []
    changed.write_text(changed.read_text().replace("Title", "title"))
    os.utime(changed)
    write_plain(tmp_path, "a/d")
    assert [entry.reference for entry in read_index("lib", tmp_path).entries] == [
        "a/b",
        "a/c",
        "a/d",
    ]
    assert read == ["a/c", "a/d"]


def test_the_same_size_and_time_do_not_hide_a_change(tmp_path: Path) -> None:
    file = write_plain(tmp_path, "a/b", title="Old")
    _settle(tmp_path)
    assert _entries(tmp_path)["a/b"].title == "Old"
    about = file.stat()
    file.write_text(file.read_text().replace("Old", "New"))
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert _entries(tmp_path)["a/b"].title == "New"


def test_a_file_that_was_just_written_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_plain(tmp_path, "a/b").stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: written + RECENT)
    read_index("lib", tmp_path)
    (file,) = (cache_folder() / "catalog").iterdir()
    assert json.loads(file.read_text())["value"][1] == "{}"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text[:0] + "[]",
        lambda text: text.replace('"key": "', '"key": "0'),
        lambda text: text.replace('"value": [', '"value": [0, '),
        lambda text: text.replace(r"line\": 1", r"line\": 2"),
        lambda text: text.replace(r"title\": \"B\"", r"title\": [\"B\"]"),
        lambda text: text.replace(r"stamps\"", r"marks\""),
        lambda text: text.replace(r"own\"", r"more\""),
    ],
)
def test_a_damaged_memory_is_not_believed(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    write_plain(tmp_path, "a/b")
    _settle(tmp_path)
    before = read_index("lib", tmp_path)
    (file,) = (cache_folder() / "catalog").iterdir()
    text = file.read_text()
    assert damage(text) != text
    file.write_text(damage(text))
    assert read_index("lib", tmp_path) == before


def test_without_a_cache_the_index_is_read_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plain(tmp_path / "lib", "a/b")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path / "file"))
    assert list(_entries(tmp_path / "lib")) == ["a/b"]


def test_libraries_of_a_project(tmp_path: Path) -> None:
    write_policy(tmp_path / "policies", "mine")
    (tmp_path / "chartkit.yaml").write_text("library: [policies]\n")
    write_plain(tmp_path / "vendor" / "public", "a/b")
    write_lock(tmp_path / "vendor" / "public")
    write_plain(tmp_path / "vendor" / ".public.chartkit-new-1", "a/b")
    write_plain(tmp_path / "vendor" / "unlocked", "a/b")
    found = libraries(tmp_path)
    assert [(each.name, each.vendored) for each in found] == [
        ("chartkit", False),
        ("policies", False),
        ("public", True),
    ]
    references = {entry.qualified for entry in read_catalogue(found).entries}
    assert {"public/a/b", "policies/mine", "chartkit/baseline/disallow-host-path"} <= references


def test_a_library_that_is_not_there_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text("library:\n  - nowhere\n")
    with pytest.raises(InputError, match="no policy library 'nowhere'") as caught:
        libraries(tmp_path)
    assert str(caught.value.location).endswith("chartkit.yaml:2:5")


def test_a_vendored_policy_that_was_changed_is_told(tmp_path: Path) -> None:
    root = tmp_path / "vendor" / "public"
    file = write_plain(root, "a/b")
    write_lock(root)
    assert read_catalogue(libraries(tmp_path)).problems == ()
    file.write_text(file.read_text() + "# more\n")
    other = write_plain(root, "a/c")
    assert read_catalogue(libraries(tmp_path)).problems == (
        f"{file}: was changed since it was vendored",
        f"{other}: was not vendored",
    )
