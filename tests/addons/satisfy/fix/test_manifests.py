"""Edits of manifests: what the file's style is stays, and what cannot be edited is listed."""

from pathlib import Path

from tests.addons.satisfy.fix.runs import fix, written
from tests.data import from_table

HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


@from_table("before", "after")
def test_the_rest_of_a_file_stays_as_it_is(tmp_path: Path, before: str, after: str) -> None:
    objects = written(tmp_path, pod=before)
    done = fix(objects)
    assert (objects / "pod.yaml").read_bytes().decode() == after
    assert done.exit_code == 0
    assert not fix(objects, "--diff").stdout


@from_table("text", "reason", "place")
def test_what_cannot_be_edited_is_listed(
    tmp_path: Path, text: str, reason: str, place: str
) -> None:
    objects = written(tmp_path, pod=text)
    done = fix(objects)
    assert (objects / "pod.yaml").read_text() == text
    assert done.exit_code == 1
    [heading, why, where] = done.stdout.splitlines()[:3]
    assert heading == "not fixed:"
    assert why.startswith("  Pod/a pods/host: ")
    assert reason in why
    assert where.endswith(place)


def test_other_objects_of_a_file_are_fixed(tmp_path: Path) -> None:
    twice = f"{HEAD}spec: {{hostNetwork: true, hostNetwork: true, containers: []}}\n"
    once = f"{HEAD}spec: {{hostNetwork: true, containers: []}}\n"
    objects = written(tmp_path, pod=f"{twice}---\n{once}")
    done = fix(objects)
    after = once.replace("true", "false")
    assert (objects / "pod.yaml").read_text() == f"{twice}---\n{after}"
    assert f"fixed {objects}/pod.yaml: 1 violation of 1 object, 1 field\n" in done.stdout


def test_a_diff_writes_nothing(tmp_path: Path) -> None:
    text = f"{HEAD}spec: {{hostNetwork: true, containers: []}}\n"
    objects = written(tmp_path, pod=text)
    done = fix(objects, "--diff")
    file = objects / "pod.yaml"
    assert done.stdout == (
        f"--- {file}\n+++ {file}\n@@ -1,4 +1,4 @@\n apiVersion: v1\n kind: Pod\n"
        " metadata: {name: a}\n-spec: {hostNetwork: true, containers: []}\n"
        "+spec: {hostNetwork: false, containers: []}\n"
    )
    assert f"would fix {file}: 1 violation of 1 object, 1 field\n" in done.stderr
    assert file.read_text() == text
    assert done.exit_code == 0
