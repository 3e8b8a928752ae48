"""The plan of a migration: verdicts, totals, exit codes and formats."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from chartkit.addons.migrate.conversion import RuleOutcome, legacy_rules
from chartkit.addons.migrate.plan.inventory import Inventory, LegacyObject, origin_of
from chartkit.addons.migrate.plan.planned import Converter, Convertibility, Plan, make_plan
from chartkit.addons.migrate.plan.report import report
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Resource, Severity
from tests.command_reports import OWN, in_format

_PLACE = Location("p.yaml", 1, 0, "/spec/rules/2/validate")
_NAMES = ("same", "loud", "hard", "new", "twice", "twice")


def _outcome(
    rule: str, reason: str = "", changes: tuple[str, ...] = (), replaced_by: tuple[str, ...] = ()
) -> RuleOutcome:
    return RuleOutcome(rule, "validate.pattern", _PLACE, replaced_by, reason, changes)


_OUTCOMES = (
    _outcome("twice", replaced_by=("ValidatingPolicy/p",)),
    _outcome("hard", "asks a service by POST"),
    _outcome("loud", changes=("An absent label fails.",), replaced_by=("ValidatingPolicy/p",)),
    _outcome("same", replaced_by=("ValidatingPolicy/p", "MutatingPolicy/p")),
    _outcome("twice", "compares with itself"),
)


def _policy(name: str = "p", *rules: str, refusal: str = "") -> LegacyObject:
    bodies = [{"name": each, "validate": {"pattern": {}}} for each in rules]
    body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name}}
    resource = Resource({**body, "spec": {"rules": bodies}}, Location("p.yaml", 1))
    return LegacyObject(resource, origin_of(resource), legacy_rules(resource), refusal)


def _convert(_policy: Resource) -> Sequence[RuleOutcome]:
    return _OUTCOMES


def _know_nothing(_policy: Resource) -> Sequence[RuleOutcome]:
    return ()


def _refuse(_policy: Resource) -> Sequence[RuleOutcome]:
    raise InputError("no form at all")


def _plan(*objects: LegacyObject, convert: Converter = _convert) -> Plan:
    return make_plan(Inventory(objects), convert)


def test_verdicts_come_from_the_converter() -> None:
    (planned,) = _plan(_policy("p", *_NAMES)).objects
    assert [rule.verdict for rule in planned.rules] == [
        Convertibility.CONVERTS,
        Convertibility.CHANGES,
        Convertibility.BY_HAND,
        Convertibility.UNKNOWN,
        Convertibility.CONVERTS,
        Convertibility.BY_HAND,
    ]
    assert planned.rules[1].notes == ("An absent label fails.",)
    assert planned.rules[2].notes == ("asks a service by POST",)
    assert planned.rules[0].replaced_by == ("ValidatingPolicy/p", "MutatingPolicy/p")
    assert planned.rules[2].location == Location("p.yaml", 1, 0, _PLACE.path)


@pytest.mark.parametrize(
    ("convert", "refusal", "verdict", "notes"),
    [
        (_know_nothing, "", Convertibility.UNKNOWN, ()),
        (_refuse, "", Convertibility.BY_HAND, ("no form at all",)),
        (_convert, "has no match", Convertibility.BY_HAND, ("has no match",)),
    ],
)
def test_a_verdict_on_a_whole_object(
    convert: Converter, refusal: str, verdict: Convertibility, notes: tuple[str, ...]
) -> None:
    (planned,) = _plan(_policy("p", "a", "b", refusal=refusal), convert=convert).objects
    first, second = planned.rules
    assert (first.verdict, first.notes) == (verdict, notes)
    assert (second.verdict, second.notes) == (verdict, ("as for the first rule",) if notes else ())


def test_exit_codes_say_what_blocks() -> None:
    fault = Diagnostic("unreadable", Severity.ERROR, "m")
    assert _plan().exit_code == 0
    # What converts blocks as well, until it is replaced.
    assert _plan(_policy("p", "same")).exit_code == 1
    assert make_plan(Inventory((), unread=("policies.kyverno.io: forbidden",))).exit_code == 1
    assert make_plan(Inventory((), (fault,))).exit_code == 2
    assert make_plan(Inventory((_policy(),), (fault,))).exit_code == 2


def test_totals_count_objects_and_rules() -> None:
    plan = _plan(_policy("p", *_NAMES), _policy("q", "same"), _policy("empty"))
    body = json.loads(in_format(report(plan), "json"))
    expected = {"rules": 7, "converts": 3, "changes": 1, "by-hand": 2, "unknown": 1}
    assert body["kinds"] == {"ClusterPolicy": {"objects": 3, **expected}}
    assert body["types"] == {"validate.pattern": {"objects": 2, **expected}}
    assert body["blocking"] == 3
    assert [(each["tool"], each["objects"]) for each in body["origins"]] == [("none", 3)]


@pytest.mark.parametrize("name", OWN)
def test_every_format_ends_with_a_line_and_says_what_blocks(name: str) -> None:
    plans = _plan(_policy("p", "same")), _plan()
    one, none = (in_format(report(each), name) for each in plans)
    assert one.endswith("\n")
    assert none.endswith("\n")
    if name != "json":
        assert "Kyverno 1.20's chart will refuse the upgrade: 1 object\n" in one
        assert "will not refuse the upgrade" in none


def test_a_gap_is_no_all_clear() -> None:
    gap = make_plan(Inventory((), unread=("clusterpolicies.kyverno.io: forbidden (403)",)))
    for name in ("text", "markdown"):
        text = in_format(report(gap), name)
        assert "will not refuse" not in text
        assert "clusterpolicies.kyverno.io: forbidden" in text


def test_the_text_fits_80_columns() -> None:
    name, new = "a" * 63, tuple(f"ValidatingPolicy/p-{number}" for number in range(9))
    long = _outcome(name, "", ("a change of many words that goes on " * 5,), new)
    text = in_format(report(_plan(_policy("p", name), convert=lambda _: [long])), "text")
    assert "\n             a change of many words" in text
    assert "→ ValidatingPolicy/p-0, ValidatingPolicy/p-1," in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_text_of_strangers_does_nothing() -> None:
    evil = "x\x1b[2J\n::error::y ![z](https://e.example)"
    outcome = _outcome(evil, evil)
    plan = _plan(_policy(evil, evil), convert=lambda _: [outcome])
    text, markdown = in_format(report(plan), "text"), in_format(report(plan), "markdown")
    assert "\x1b" not in text + markdown
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "![z]" not in markdown
    assert json.loads(in_format(report(plan), "json"))["objects"][0]["name"] == evil


def test_the_plan_asks_the_converter() -> None:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    pattern = {"metadata": {"labels": {"team": "?*"}}}
    rule = {"name": "team", "match": match, "validate": {"message": "m", "pattern": pattern}}
    body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}}
    policy = Resource({**body, "spec": {"rules": [rule]}})
    cleanup = Resource({**body, "apiVersion": "kyverno.io/v2", "kind": "ClusterCleanupPolicy"})
    found = [LegacyObject(one, origin_of(one), legacy_rules(one)) for one in (policy, cleanup)]
    converted, _ = (each.rules[0] for each in make_plan(Inventory(tuple(found))).objects)
    assert converted.verdict is Convertibility.CONVERTS
    assert converted.replaced_by == ("ValidatingPolicy/p",)
