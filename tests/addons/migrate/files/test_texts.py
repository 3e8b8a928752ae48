"""The texts of migrated files: what is kept, what is replaced, and where notes stand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.addons.migrate.files.printed import comments_in, note
from chartkit.addons.migrate.files.run import write
from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from tests.addons.migrate.files.migrations import INVENTORY, OPTIONS, migrated
from tests.data import beside

_TEXTS = beside(__file__)
_HEAD = _TEXTS["head"]
_GOOD = _TEXTS["good"]
_HARD = _TEXTS["hard"]
_OTHER = "apiVersion: v1\nkind: ConfigMap  # as it was\nmetadata: {name: other}\n"
_NOTE = "# chartkit migrate: not converted: "


def _file(folder: Path, text: str, name: str = "p.yaml") -> str:
    (folder / name).write_text(text)
    found = migrated(folder / name)
    assert not found.inventory.faults
    (one,) = found.files
    return one.after


def test_comments_stay_where_they_were(tmp_path: Path) -> None:
    after = _file(tmp_path, f"{_HEAD}  # for all\n  rules:\n{_GOOD}")
    lines = after.splitlines()
    assert lines[0] == "# A line about the license"
    assert lines[1] == "apiVersion: policies.kyverno.io/v1"
    assert lines[lines.index("  # named after the label") + 1] == "  name: require-team  # short"
    at = lines.index("  validations:")
    assert lines[at - 3 : at] == [
        "  # for all",
        "  # each Pod has an owner",
        "  # one letter is enough",
    ]
    assert "A Pod needs # the label team." in after


def test_comments_of_several_rules_stand_at_their_own_entries(tmp_path: Path) -> None:
    second = _GOOD.replace("# each Pod", "# each owner").replace("- name: ", "- name: second-")
    after = _file(tmp_path, f"{_HEAD}  rules:\n{_GOOD}{second}")
    lines = after[after.index("  validations:") :].splitlines()
    comments = [line.strip() for line in lines if line.startswith("  #")]
    assert comments == [
        "# each Pod has an owner",
        "# one letter is enough",
        "# each owner has an owner",
        "# one letter is enough",
    ]
    at = lines.index("  # each owner has an owner")
    assert lines[at + 2].startswith("  - message: ")
    assert lines[1] == "  # each Pod has an owner"


def test_a_rule_that_is_left_keeps_its_text(tmp_path: Path) -> None:
    after = _file(tmp_path, f"{_HEAD}  rules:\n{_GOOD}{_HARD}")
    new, left = after.split("---\n")
    assert "kind: ValidatingPolicy" in new
    assert left.startswith(_HEAD)
    assert "name: team\n" not in left
    assert "# each Pod has an owner" not in left
    comment, note, *rule = left.splitlines()[left.splitlines().index("    # set by hand") :]
    assert note.startswith(f"    {_NOTE}")
    assert [comment, *rule] == _HARD.splitlines()


def test_the_first_rule_left_and_the_last_one_cut(tmp_path: Path) -> None:
    after = _file(tmp_path, f"{_HEAD}  rules:\n{_HARD}{_GOOD}  background: false\n")
    left = after.split("---\n")[1]
    assert left.endswith('pattern: {metadata: {labels: {team: "?*"}}}\n  background: false\n')
    assert [rule["name"] for rule in read_text(left)[0].body["spec"]["rules"]] == ["same"]


@pytest.mark.parametrize(
    "rules",
    [
        f"  rules:\n{_GOOD}",
        f"  rules:\n{_HARD}",
        f"  rules:\n{_GOOD}{_HARD}",
        f"  background: false\n  rules:\n{_HARD}{_GOOD}  admission: true\n# the end\n",
    ],
)
def test_a_second_run_changes_nothing(tmp_path: Path, rules: str) -> None:
    once = _file(tmp_path, f"{_OTHER}---\n{_HEAD}{rules}---\n{_OTHER}")
    assert once.startswith(_OTHER)
    assert once.endswith(_OTHER)
    (tmp_path / "p.yaml").write_text(once)
    again = migrated(tmp_path / "p.yaml").files
    assert all(not each.changes for each in again)


def test_rules_on_one_line_are_written_anew(tmp_path: Path) -> None:
    def one(name: str, key: str) -> str:
        kinds = "{any: [{resources: {kinds: [Pod]}}]}"
        return f"{{name: {name}, match: {kinds}, {key} validate: {{pattern: {{spec: {{a: b}}}}}}}}"

    bad = 'preconditions: {all: [{key: "{{ nosuch(@) }}", operator: Equals, value: 1}]},'
    after = _file(tmp_path, f"{_HEAD}  rules: [{one('good', '')}, {one('hard', bad)}]\n")
    left = after.split("---\n")[1]
    assert _NOTE in left
    assert [rule["name"] for rule in read_text(left)[0].body["spec"]["rules"]] == ["hard"]


def test_items_of_a_list(tmp_path: Path) -> None:
    policy = "\n".join(f"  {line}" for line in f"{_HEAD}  rules:\n{_GOOD}".splitlines()[1:])
    other = "\n".join(f"  {line}" for line in _OTHER.splitlines())
    items = f"- {policy.lstrip()}\n- {other.lstrip()}\n"
    after = _file(tmp_path, f"apiVersion: v1\nkind: List\nitems:\n{items}")
    new, left = read_text(after)
    assert new.body["kind"] == "ValidatingPolicy"
    assert [each["kind"] for each in left.body["items"]] == ["ConfigMap"]


def test_a_file_of_json_stays_json(tmp_path: Path) -> None:
    (document,) = read_text(f"{_HEAD}  rules:\n{_GOOD}")
    after = _file(tmp_path, json.dumps(document.body), "p.json")
    assert json.loads(after)["kind"] == "ValidatingPolicy"


def test_markers_and_directives_stay(tmp_path: Path) -> None:
    after = _file(tmp_path, f"# top\n--- # first\n{_HEAD}  rules:\n{_GOOD}...\n# behind\n")
    assert after.startswith("# top\n--- # first\n# A line about the license\napiVersion: policies")
    assert after.endswith("# behind\n")
    assert len(read_text(after)) == 1


def test_notes_of_strangers_are_comments_alone() -> None:
    lines = note("x\x1b[2J\nkind: Pod " * 20, "y\nkind: Pod")
    assert all(line.startswith("# chartkit migrate: ") and line.isprintable() for line in lines)


def test_comments_know_their_keys() -> None:
    found = comments_in('# a\nx: "# no"  # b\ny:\n  # c\n  - 1 # d\n  - |\n    # no\n# e\n')
    assert [(each.text, each.path, each.is_alone) for each in found] == [
        ("# a", (), True),
        ("# b", ("x",), False),
        ("# c", ("y", 0), True),
        ("# d", ("y", 0), False),
        ("# e", None, True),
    ]


def test_in_place_and_into_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    file = tmp_path / "in" / "sub" / "p.yaml"
    file.write_text(f"{_HEAD}  rules:\n{_GOOD}")
    found = migrated(tmp_path / "in")
    options = replace(OPTIONS, inventory=replace(INVENTORY, paths=(str(tmp_path / "in"),)))
    write(found, replace(options, folder=tmp_path / "out"))
    assert "kind: ClusterPolicy" in file.read_text()
    assert (tmp_path / "out" / "sub" / "p.yaml").read_text() == found.files[0].after
    write(found, replace(options, write=True))
    assert file.read_text() == found.files[0].after


def test_what_has_no_file_is_not_written_in_place() -> None:
    found = migrated("-", stdin=f"{_HEAD}  rules:\n{_GOOD}")
    with pytest.raises(InputError, match="standard input cannot be written"):
        write(found, replace(OPTIONS, write=True, inventory=replace(INVENTORY, paths=("-",))))


def test_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(f"{_HEAD}  rules:\n{_GOOD}")
    (tmp_path / "hard.yaml").write_text(f"{_HEAD}  rules:\n{_HARD}")
    (tmp_path / "none.yaml").write_text(_OTHER)
    good, hard, none = (migrated(tmp_path / f"{name}.yaml") for name in ("good", "hard", "none"))
    assert [each.exit_code(check=False) for each in (good, hard, none)] == [0, 1, 0]
    assert [each.exit_code(check=True) for each in (good, hard, none)] == [1, 1, 0]
    (tmp_path / "bad.yaml").write_text(_HEAD + "  rules: [{name: x}]\n")
    bad = migrated(tmp_path)
    assert bad.exit_code(check=False) == 2
    assert len([each for each in bad.objects if each.is_whole]) == 1
    (tmp_path / "code.yaml").write_text("{{- if .Values.x }}\n" + _HEAD)
    unread = migrated(tmp_path)
    assert (unread.exit_code(check=False), unread.text, unread.files) == (2, "", ())


@pytest.mark.parametrize(
    "changes",
    [
        {"write": True, "check": True},
        {"folder": Path("x"), "check": True},
        {"objects": ("x",)},
        {"allowed": ("p",), "prove": True},
        {"allowed": ("nobody=why",), "prove": True},
    ],
)
def test_options_that_cannot_be(tmp_path: Path, changes: dict[str, Any]) -> None:
    (tmp_path / "p.yaml").write_text(f"{_HEAD}  rules:\n{_GOOD}")
    with pytest.raises(InputError):
        migrated(tmp_path / "p.yaml", **changes)


def test_standard_output_has_the_policies_alone(tmp_path: Path) -> None:
    text = f"# top\n---\n{_HEAD}  rules:\n{_GOOD}---\n{_OTHER}"
    (tmp_path / "p.yaml").write_text(text)
    piped, read = migrated("-", stdin=text), migrated(tmp_path / "p.yaml")
    assert piped.text == read.text
    assert read.text.startswith("# top\n# A line about the license\napiVersion: policies")
    assert [each.body["kind"] for each in read_text(read.text)] == ["ValidatingPolicy"]


def test_json_that_is_no_yaml(tmp_path: Path) -> None:
    (document,) = read_text(f"{_HEAD}  rules:\n{_GOOD}")
    text = json.dumps(document.body).replace("label team", "label \\ud83d\\ude00 # team")
    assert "kind: ValidatingPolicy" in _file(tmp_path, text)


@pytest.mark.parametrize("part", ["a few words ", "words::of a log ", "two  spaces ", "x: y # z "])
def test_long_texts_are_folded_where_they_read_back(tmp_path: Path, part: str) -> None:
    message = (part * 20).strip()
    rule = _GOOD.replace("A Pod needs # the label team.", message)
    after = _file(tmp_path, f"{_HEAD}  rules:\n{rule}")
    spec = read_text(after)[0].body["spec"]
    assert spec["validations"][0]["message"] == message
    is_folded = part in ("a few words ", "x: y # z ")
    assert ("message: >-\n" in after) is is_folded
    assert not any(line.lstrip().startswith("::") for line in after.splitlines())
