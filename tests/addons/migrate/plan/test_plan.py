"""The plan of a migration: verdicts, totals, exit codes and formats."""

import io
import json
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.addons.migrate.conversion import Conversion, RuleOutcome, legacy_rules
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.options import ConversionOptions
from chartkit.addons.migrate.plan.inventory import LegacyObject
from chartkit.addons.migrate.plan.origin import origin_of
from chartkit.addons.migrate.plan.planned import Convertibility, Plan, make_plan
from chartkit.addons.migrate.plan.report import report
from chartkit.addons.migrate.proof import Answer, Aspect, Case, Coverage, Difference, Proof, Result
from chartkit.model import Diagnostic, Location, Resource, Severity
from tests.addons.migrate.files.migrations import OPTIONS, migrated
from tests.command_reports import OWN, in_format
from tests.data import beside

_PLACE = Location("p.yaml", 1, 0, "/spec/rules/2/validate")


def _outcome(
    rule: str, reason: str = "", changes: tuple[str, ...] = (), replaced_by: tuple[str, ...] = ()
) -> RuleOutcome:
    return RuleOutcome(rule, "validate.pattern", _PLACE, replaced_by, reason, changes)


_SAME = _outcome("same", replaced_by=("ValidatingPolicy/p", "MutatingPolicy/p"))
_LOUD = _outcome("loud", changes=("An absent label fails.",), replaced_by=("ValidatingPolicy/p",))
_HARD = _outcome("hard", "asks a service by POST")


def _object(name: str, *outcomes: RuleOutcome, reason: str = "") -> MigratedObject:
    bodies = [{"name": each.rule, "validate": {"pattern": {}}} for each in outcomes]
    body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name}}
    resource = Resource({**body, "spec": {"rules": bodies}}, Location("p.yaml", 1))
    legacy = LegacyObject(resource, origin_of(resource), legacy_rules(resource))
    conversion = None if reason else Conversion(resource, (), outcomes)
    return MigratedObject(legacy, conversion, reason)


def test_verdicts_come_from_the_outcomes_of_rules() -> None:
    plan = Plan([_object("p", _SAME, _LOUD, _HARD)])
    (planned,) = plan.objects
    assert [plan.verdict(each) for each in planned.outcomes] == [
        Convertibility.CONVERTS,
        Convertibility.CHANGES,
        Convertibility.BY_HAND,
    ]
    unproved = replace(plan, is_proved=False)
    assert {unproved.verdict(each) for each in (_SAME, _LOUD)} == {Convertibility.NOT_PROVED}
    assert unproved.verdict(_HARD) is Convertibility.BY_HAND
    assert [planned.notes(each) for each in planned.outcomes] == [
        [],
        ["An absent label fails."],
        ["asks a service by POST"],
    ]


def test_a_verdict_on_a_whole_object() -> None:
    (planned,) = Plan([_object("p", _SAME, _LOUD, reason="has no match")]).objects
    assert [planned.notes(each) for each in planned.outcomes] == [
        ["has no match"],
        ["has no match"],
    ]


def test_exit_codes_say_what_blocks() -> None:
    fault = Diagnostic("unread", Severity.ERROR, "m")
    assert Plan([]).exit_code == 0
    # What converts blocks as well, until it is replaced.
    assert Plan([_object("p", _SAME)]).exit_code == 1
    assert Plan([], unread=["policies.kyverno.io: forbidden"]).exit_code == 1
    assert Plan([], [fault]).exit_code == 2
    assert Plan([_object("p")], [fault]).exit_code == 2


def test_totals_count_objects_and_rules() -> None:
    plan = Plan([_object("p", _SAME, _LOUD, _HARD), _object("q", _SAME), _object("empty")])
    body = json.loads(in_format(report(plan), "json"))
    expected = {"rules": 4, "converts": 2, "changes": 1, "by-hand": 1, "not-proved": 0}
    assert body["kinds"] == {"ClusterPolicy": {"objects": 3, **expected}}
    assert body["types"] == {"validate.pattern": {"objects": 2, **expected}}
    assert body["blocking"] == 3
    assert [(each["tool"], each["objects"]) for each in body["origins"]] == [("none", 3)]


@pytest.mark.parametrize("name", OWN)
def test_every_format_ends_with_a_line_and_says_what_blocks(name: str) -> None:
    plans = Plan([_object("p", _SAME)]), Plan([])
    one, none = (in_format(report(each), name) for each in plans)
    assert one.endswith("\n")
    assert none.endswith("\n")
    if name != "json":
        assert "Kyverno 1.20's chart will refuse the upgrade: 1 object\n" in one
        assert "will not refuse the upgrade" in none


def test_a_gap_is_no_all_clear() -> None:
    gap = Plan([], unread=["clusterpolicies.kyverno.io: forbidden (403)"])
    for name in ("text", "markdown"):
        text = in_format(report(gap), name)
        assert "will not refuse" not in text
        assert "clusterpolicies.kyverno.io: forbidden" in text


def test_the_text_fits_80_columns() -> None:
    name, new = "a" * 63, tuple(f"ValidatingPolicy/p-{number}" for number in range(9))
    long = _outcome(name, "", ("a change of many words that goes on " * 5,), new)
    text = in_format(report(Plan([_object("p", long)])), "text")
    assert "\n             a change of many words" in text
    assert "→ ValidatingPolicy/p-0, ValidatingPolicy/p-1," in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_note_of_several_rules_stands_once() -> None:
    quiet = replace(_LOUD, rule="quiet", changes=("An absent label fails.", "Another."))
    lines = in_format(report(Plan([_object("p", _LOUD, quiet), _object("q", _HARD)])), "text")
    assert lines.count("An absent label fails.") == 1
    assert lines.count("note 1") == 2
    assert "NOTES\n    1. An absent label fails.\n" in lines
    assert lines.count("Another.") == 1
    assert "asks a service by POST" in lines


def test_text_of_strangers_does_nothing() -> None:
    evil = "x\x1b[2J\n::error::y ![z](https://e.example)"
    plan = Plan([_object(evil, _outcome(evil, evil))])
    text, markdown = in_format(report(plan), "text"), in_format(report(plan), "markdown")
    assert "\x1b" not in text + markdown
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "![z]" not in markdown
    assert json.loads(in_format(report(plan), "json"))["objects"][0]["name"] == evil


def test_a_difference_is_a_note_of_the_rules_that_would_convert() -> None:
    answers = Answer(Result.FAIL, denied=True), Answer(Result.ERROR, errors=("no such key",))
    difference = Difference(Aspect.RESULT, Case({"object": {}}), *answers)
    proof = Proof(1, 1, (difference,), Coverage(), {})
    planned = replace(_object("p", _SAME, _HARD), proof=proof)
    assert [planned.notes(each) for each in planned.outcomes] == [
        [
            "the proof found a difference between both forms",
            "result: fail; denied, now error; no such key",
        ],
        ["asks a service by POST"],
    ]


_POLICY = beside(__file__)["policy"]


def _plan_of(folder: Path, **changes: Any) -> Plan:
    values = {each.name: getattr(OPTIONS, each.name) for each in fields(ConversionOptions)}
    inventory = replace(OPTIONS.inventory, paths=(str(folder),))
    options = ConversionOptions(**{**values, "inventory": inventory, **changes})
    return make_plan(options, io.StringIO(), lambda _: None, lambda _: nullcontext(lambda: None))


def test_the_plan_says_what_policies_does(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(_POLICY.replace("KEY", '"yes"'))
    (tmp_path / "never.yaml").write_text(
        _POLICY.replace("KEY", '"no"').replace("name: team}", "name: never}")
    )
    plan = _plan_of(tmp_path, prove=True, proof_seconds=0.3)
    migration = migrated(tmp_path, prove=True, proof_seconds=0.3)
    planned, done = ([each.outcomes for each in of.objects] for of in (plan, migration))
    assert planned == done
    assert {
        each.legacy.resource.name: [plan.verdict(outcome) for outcome in each.outcomes]
        for each in plan.objects
    } == {"never": [Convertibility.BY_HAND], "team": [Convertibility.CONVERTS]}


def test_a_link_to_itself_beside_patches_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("patches: [{path: patch.yaml}]\n")
    (tmp_path / "patch.yaml").write_text("kind: Pod\nmetadata: {name: a}\n")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    assert _plan_of(tmp_path).exit_code == 2


def test_what_is_not_read_below_a_folder_is_no_all_clear(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    assert "will not refuse" in in_format(report(_plan_of(tmp_path)), "text")
    (tmp_path / "main.jsonnet").write_text("{}\n")
    plan = _plan_of(tmp_path)
    [note] = plan.notes
    assert (plan.exit_code, note.message) == (0, "is Jsonnet and is not read")
    assert note.hint == "jsonnet FILE | chartkit migrate plan -"
    assert "in what could be read" in in_format(report(plan), "text")
    (tmp_path / "kustomization.yaml").write_text("resources: [pod.yaml, 'https://a.example/b']\n")
    plan = _plan_of(tmp_path)
    [remote] = plan.unread
    assert "kustomization.yaml:1:23: 'https://a.example/b' is elsewhere" in remote
    assert plan.exit_code == 1


def test_a_plan_without_proofs_says_so(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(_POLICY.replace("KEY", '"yes"'))
    plan = _plan_of(tmp_path)
    assert [plan.verdict(each) for each in plan.objects[0].outcomes] == [Convertibility.NOT_PROVED]
    assert "  not proved team, validate.pattern\n" in in_format(report(plan), "text")
