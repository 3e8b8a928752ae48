import os
from pathlib import Path
from typing import Any

import pytest

from chartkit.helm.kustomize.build import build
from chartkit.helm.sandbox.process import Limits, ProgramResult, Programs
from chartkit.model import Resource
from tests.data import beside, from_table
from tests.unit.helm.kustomize.conftest import POD, Write

_TEXTS = beside(__file__)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="programs of these tests are scripts")

OVERLAY = _TEXTS["overlay"]
HOST = _TEXTS["host"]
FILES = {
    "base/kustomization.yaml": "resources: [pod.yaml]\n",
    "base/pod.yaml": f"# Of the base\n{POD}",
    "prd/kustomization.yaml": OVERLAY,
    "prd/host.yaml": HOST,
}


def _placed(resource: Resource, *pointers: str) -> list[str]:
    return [str(resource.location.within(each)) for each in pointers]


@pytest.mark.parametrize("most_patches", [0, 20])
@pytest.mark.usefixtures("kustomize")
def test_fields_have_the_places_of_base_and_overlay(
    tree: Write, monkeypatch: pytest.MonkeyPatch, most_patches: int
) -> None:
    # Beyond so many patches kustomize annotates no origins: they are searched for.
    monkeypatch.setattr("chartkit.helm.kustomize.build._MOST_PATCHES", most_patches)
    found, rows = build(tree(FILES))
    assert not rows
    settings, pod = sorted(found, key=lambda each: each.kind)
    assert str(settings.location) == "prd/kustomization.yaml:11:5"
    assert (pod.name, str(pod.location)) == ("prd-web", "base/pod.yaml:2")
    assert "annotations" not in pod.body["metadata"]
    assert [each["name"] for each in pod.body["spec"]["containers"]] == ["side", "web"]
    containers = "/spec/containers"
    assert _placed(pod, "/spec/hostNetwork", "/spec/hostPID", "/spec/hostIPC") == [
        "prd/host.yaml:6:3",
        "prd/kustomization.yaml:9:9",
        "base/pod.yaml:6:1",
    ]
    assert _placed(pod, f"{containers}/0/image", f"{containers}/1/image") == [
        "prd/host.yaml:9:7",
        "base/pod.yaml:9:7",
    ]
    assert pod.location.within("/spec/hostNetwork").file == "prd/host.yaml"


@pytest.mark.usefixtures("kustomize")
def test_values_that_a_kustomization_gives_have_its_lines(tree: Write) -> None:
    overlay = "resources: [../base]\nnamespace: shop\nimages:\n  - {name: nginx, newTag: latest}\n"
    [pod], _ = build(tree({**FILES, "prd/kustomization.yaml": overlay, "base/pod.yaml": POD}))
    assert pod.body["spec"]["containers"][0]["image"] == "nginx:latest"
    assert _placed(pod, "/spec/containers/0/image", "/spec/containers/0/name") == [
        "prd/kustomization.yaml:4:5",
        "base/pod.yaml:7:7",
    ]


@pytest.mark.usefixtures("kustomize")
def test_one_failing_build_is_a_row_and_the_others_are_built(tree: Write) -> None:
    broken = "resources: [../base]\npatches: [{patch: 'kind: [', target: {kind: Pod}}]\n"
    remote = "namePrefix: r-\nresources: [../base, 'https://example.com/x']\n"
    needing = "namePrefix: n-\nresources: [../closed]\n"
    closed = "resources: [../base]\ncomponents: ['https://example.com/c']\n"
    found, rows = build(
        tree(
            {
                **FILES,
                "broken/kustomization.yaml": broken,
                "remote/kustomization.yaml": remote,
                "closed/kustomization.yaml": closed,
                "needing/kustomization.yaml": needing,
                "circle/kustomization.yaml": "namePrefix: c-\nresources: [../circle]\n",
            }
        )
    )
    assert sorted(each.name for each in found if each.kind == "Pod") == ["prd-web", "r-web"]
    assert sorted(str(each.location) for each in rows) == [
        "broken/kustomization.yaml",
        "circle/kustomization.yaml:2:13",
        "closed/kustomization.yaml:2:14",
        "needing/kustomization.yaml",
        "remote/kustomization.yaml:2:22",
    ]
    assert {each.rule_id for each in rows} == {"unread"}
    assert not [each for each in rows if "\n" in each.message or "/copy" in each.message]
    assert any("PatchTransformer: unable to parse" in each.message for each in rows)


@pytest.mark.usefixtures("kustomize")
def test_links_inside_the_repository_are_followed(tree: Write) -> None:
    Path("there").symlink_to("base", target_is_directory=True)
    Path("pod.yaml").symlink_to("base/pod.yaml")
    found, rows = build(
        tree({**FILES, "kustomization.yaml": "nameSuffix: -x\nresources: [there, prd]\n"})
    )
    assert not rows
    assert sorted(each.name for each in found if each.kind == "Pod") == ["prd-web-x", "web-x"]


def test_without_a_program_there_is_one_row(
    tree: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found, [row] = build(tree({**FILES, "dev/kustomization.yaml": "resources: [../base, ../prd]"}))
    assert not found
    assert "1 kustomization is not built: there is no kustomize or kubectl program" in row.message


def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Puts another program in the place of kustomize."""
    (tmp_path / "bin").mkdir()
    file = tmp_path / "bin" / "kustomize"
    file.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(
    "text",
    [
        "resources: {a: b}\npatches: x\n",
        "helmCharts: {}\nconfigMapGenerator: [1, {files: x, envs: [1]}]\nnamePrefix: 7\n",
        "patches: [1, null, {path: 1}, {patch: 1}, {target: x, patch: 'a: b'}]\n",
        "nameSuffix: [x]\nresources: ['', 1, null, '\\0', '.', './', '\U0001f600']\n",
        "buildMetadata: x\ntransformers: ['a: [', '{}', '- 1']\nopenapi: x\n",
        "? [a]\n: b\n",
    ],
)
@pytest.mark.usefixtures("kustomize")
def test_fields_of_any_type_are_a_row_or_built(tree: Write, text: str) -> None:
    found = tree({"kustomization.yaml": text, "base/pod.yaml": POD})
    objects, rows = build(found)
    assert rows or not found.builds or objects
    assert {each.rule_id for each in rows} <= {"unread"}


@from_table("script", "said")
def test_a_program_that_misbehaves_is_a_row(
    tree: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    _program(tmp_path, monkeypatch, script)
    limits = Limits(seconds=20, cpu_seconds=1, output=1 << 20)
    found, [row] = build(tree(FILES), limits=limits)
    assert not found
    assert said in row.message
    assert row.rule_id == "unread"


def test_the_program_gets_nothing_of_the_user(
    tree: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "1")
    monkeypatch.setenv("KUSTOMIZE_PLUGIN_HOME", str(tmp_path))
    script = """\
    [ -n "$PATH" ] && [ -z "$SECRET_OF_MINE$KUSTOMIZE_PLUGIN_HOME" ] && echo "home is $HOME" >&2
    exit 1"""
    _program(tmp_path, monkeypatch, script)
    _, [row] = build(tree(FILES))
    assert row.message.startswith("home is ")
    assert not row.message.endswith(str(Path.home()))


def test_kubectl_builds_where_kustomize_is_missing(
    tree: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kubectl"
    file.write_text('#!/bin/sh\n[ "$1" = kustomize ] && /bin/cat "$2/../base/pod.yaml"\n', "utf-8")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    [pod], rows = build(tree(FILES))
    assert pod.name == "web"
    assert not rows


def test_a_process_builds_the_same_files_once(
    tree: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = POD.replace("\n", "\\n")
    _program(tmp_path, monkeypatch, f"printf '{pod}'")
    started = []
    run = Programs.run

    def counted(programs: Programs, *given: Any, **more: Any) -> ProgramResult:
        started.append(given)
        return run(programs, *given, **more)

    monkeypatch.setattr(Programs, "run", counted)
    read = tree(FILES)
    assert build(read)[0] == build(read)[0]
    assert len(started) == 1
    assert build(tree({**FILES, "prd/host.yaml": f"{HOST}# changed\n"}))[0]
    assert len(started) == 2
