"""Edits of chartkit.yaml and promotions.yaml: comments stay, and the way back leads back."""

from pathlib import Path

import pytest

from chartkit.addons.operate.promote.files import (
    ProjectText,
    last_promotion,
    promoted,
    read_decisions,
    with_entry,
)
from chartkit.documents.reader import parse_yaml, read_file
from chartkit.errors import InputError
from chartkit.model import Body
from tests.addons.operate.promote.conftest import PROJECT, Shop
from tests.data import from_table

_PRD = ("environments", "prd")


def _edit(text: str, place: tuple[str, ...] = _PRD) -> ProjectText:
    return ProjectText(text, place, Path("chartkit.yaml"))


def test_a_promotion_and_its_way_back(shop: Shop) -> None:
    before = shop.project
    assert shop.promote("clean", "--write")[0] == 0
    body = parse_yaml(shop.project)
    assert body["environments"]["prd"]["policies"] == {"clean": {"action": "Enforce"}}
    for comment in ("# Our project.", "# since May", "# What comes last."):
        assert comment in shop.project
    [entry] = read_decisions(shop.folder / "promotions.yaml")
    assert entry["policies"]["clean"]["before"] == {}
    assert entry["policies"]["clean"]["evidence"]["objects"] == 3
    code, out, _ = shop.run("promote", "clean", "--to", "prd", "--back", "--write")
    assert (code, out) == (0, "~ clean  Enforce → as before\n")
    assert shop.project == before
    assert len(read_decisions(shop.folder / "promotions.yaml")) == 2
    code, _, err = shop.run("promote", "clean", "--to", "prd", "--back", "--write")
    assert code == 2
    assert "no promotion of 'clean' in prd is to be taken back" in err


def test_the_way_back_takes_the_exceptions_out(shop: Shop) -> None:
    before = shop.project
    assert shop.promote("dirty", "--with-exceptions", "--write")[0] == 0
    [file] = shop.folder.glob("exceptions/prd/*.yaml")
    assert file.name in shop.project
    code, _, err = shop.run("promote", "dirty", "--to", "prd", "--back", "--write")
    assert (code, shop.project, file.exists()) == (0, before, False)
    assert f"removed exceptions/prd/{file.name}" in err


def test_exceptions_for_other_policies_stay(shop: Shop) -> None:
    own = shop.folder / "policies/third/third.yaml"
    own.parent.mkdir()
    text = (shop.folder / "policies/dirty/dirty.yaml").read_text()
    own.write_text(text.replace("name: dirty", "name: third"))
    profile = (shop.folder / "ours.yaml").read_text()
    shop.write("ours.yaml", profile.replace("dirty: {}", "dirty: {}, third: {}"))
    assert shop.run("render")[0] == 0
    assert shop.promote("dirty", "third", "--with-exceptions", "--write")[0] == 0
    [file] = shop.folder.glob("exceptions/prd/*.yaml")
    file.write_text("# Reviewed.\n" + file.read_text())
    assert shop.run("promote", "dirty", "--to", "prd", "--back", "--write")[0] == 0
    named = {each.body["spec"]["exceptions"][0]["policyName"] for each in read_file(file)}
    assert (named, file.name in shop.project) == ({"third"}, True)
    assert shop.run("promote", "third", "--to", "prd", "--back", "--write")[0] == 0
    assert not file.exists()


def test_exceptions_that_were_taken_out_by_hand_are_a_note(shop: Shop) -> None:
    shop.promote("dirty", "--with-exceptions", "--write")
    [file] = shop.folder.glob("exceptions/prd/*.yaml")
    file.unlink()
    code, out, _ = shop.run("promote", "dirty", "--to", "prd", "--back")
    assert (code, "was taken out already" in out) == (0, True)


def test_promotions_are_taken_back_one_by_one(shop: Shop) -> None:
    before = shop.project
    shop.promote("clean", "--namespaces", "shop", "--write")
    first = shop.project
    shop.run("render")
    shop.promote("clean", "--write")
    for text in (first, before):
        code, out, err = shop.run("promote", "clean", "--to", "prd", "--back", "--write")
        assert code == 0, out + err
        assert shop.project == text


def test_a_promoted_policy_enforces_in_the_charts(shop: Shop) -> None:
    shop.promote("clean", "--write")
    shop.run("render")
    [policy] = [
        each.body
        for each in read_file(shop.folder / "rendered/prd/kyverno-policies.yaml")
        if each.body["metadata"]["name"] == "clean"
    ]
    assert "Enforce" in str(policy["spec"])
    code, out, _ = shop.run("promote", "clean", "--to", "prd")
    assert (code, "enforces already" in out) == (0, True)


@from_table("settings", "namespaces", "after")
def test_actions_after_a_promotion(
    settings: dict[str, object], namespaces: list[str], after: dict[str, object]
) -> None:
    assert promoted(settings, namespaces) == after


@from_table("tail")
def test_edits_change_nothing_else(tail: str) -> None:
    text = f"{PROJECT}{tail}"
    before = _edit(text)
    settings = before.settings("clean")
    edited = before.with_actions({"clean": promoted(settings, ())})
    assert edited.settings("clean") == {"action": "Enforce"}
    for line in text.splitlines():
        if "#" in line and "for now" not in line:
            assert line.strip() in edited.text
    back = edited.with_actions({"clean": settings})
    assert back.settings("clean") == settings


def test_a_cluster_is_edited_in_its_place() -> None:
    text = "environments:\n  prd:\n    clusters:\n      east: {}\n      west: {}\n"
    place = ("environments", "prd", "clusters", "east")
    edited = _edit(text, place).with_actions({"clean": {"action": "Enforce"}})
    clusters = parse_yaml(edited.text)["environments"]["prd"]["clusters"]
    assert clusters == {"east": {"policies": {"clean": {"action": "Enforce"}}}, "west": {}}


def test_a_folder_of_exceptions_is_named_once() -> None:
    text = "environments:\n  prd:\n    exceptions: [exceptions/prd]\n"
    assert _edit(text).with_exceptions("exceptions/prd/a.yaml").text == text
    added = _edit(text).with_exceptions("other/a.yaml")
    assert added.environment["exceptions"] == ["exceptions/prd", "other/a.yaml"]


@pytest.mark.parametrize(
    "text", ["[]", "a: b", "promotions: {}", "promotions: [1]", "promotions: [{environment: a}]"]
)
def test_a_record_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "promotions.yaml"
    file.write_text(text)
    if text == "a: b":
        assert read_decisions(file) == []
        return
    with pytest.raises(InputError, match="is not a record of promotions"):
        read_decisions(file)


@pytest.mark.parametrize(
    "text", ["promotions: []\n", "promotions:\n- {environment: x, policies: {}}\n# why\na: 1\n"]
)
def test_an_entry_is_added_to_a_record_of_any_shape(tmp_path: Path, text: str) -> None:
    file = tmp_path / "promotions.yaml"
    file.write_text(text)
    before, entry = parse_yaml(text), {"environment": "prd", "policies": {}}
    edited = with_entry(file, entry)
    assert parse_yaml(edited) == {**before, "promotions": [*before["promotions"], entry]}
    assert ("# why\na: 1\n" in edited) is ("# why" in text)


def test_a_record_of_two_documents_stays(tmp_path: Path) -> None:
    file = tmp_path / "promotions.yaml"
    file.write_text("promotions: []\n---\na: 1\n")
    with pytest.raises(InputError):
        with_entry(file, {"environment": "prd", "policies": {}})


@from_table("listed", "after")
def test_a_file_of_exceptions_is_taken_out(listed: str, after: list[str] | None) -> None:
    text = f"environments:\n  prd:\n    exceptions: {listed}\n    # below\n    engine: true\n"
    edited = _edit(text).without_exceptions("a.yaml")
    assert edited.environment.get("exceptions") == after
    assert "# below" in edited.text


def test_the_last_promotion_counts() -> None:
    entries: list[Body] = [
        {"environment": "prd", "policies": {"a": {"before": {"action": "Audit"}}}},
        {"environment": "qa", "policies": {"a": {"before": {}}}},
        {"environment": "prd", "back": True, "policies": {"b": {}}},
    ]
    assert last_promotion(entries, "prd", "a") == {"before": {"action": "Audit"}}
    assert last_promotion(entries, "prd", "b") is None
    assert last_promotion(entries, "prd", "c") is None
