"""Violations have an identity; baselines are read, compared, and written anew."""

import random
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Location, Resource, RuleResult, RuleType, Status
from chartkit.scan.gate.baseline import (
    Baseline,
    BaselineMatcher,
    KnownViolation,
    baseline_text,
    parse_baseline,
    read_baseline,
)
from chartkit.scan.gate.violation import (
    Violation,
    field_path,
    kind_and_namespace,
    object_name,
    violations_of,
)
from tests.data import beside, from_table, tables
from tests.errors import error_of

TODAY = date(2027, 1, 31)
FILE = Path("baseline.yaml")

TEXT = beside(__file__)["text"]

AGENT = Violation("privileged", "containers", "apps/v1/DaemonSet/kube-system/agent")
CART = Violation("limits", "", "v1/Pod/shop/cart", "spec.containers[name=app].resources")
OTHER = Violation("limits", "", "v1/Pod/shop/other", "spec.containers[0]")


def parsed(text: str) -> Baseline:
    return parse_baseline(read_text(text, str(FILE)), FILE)


def everything(_violation: Violation) -> bool:
    return True


def test_known_violations_are_accepted_with_their_reason() -> None:
    matcher = BaselineMatcher(parsed(TEXT), TODAY)
    known = matcher.match([AGENT])
    assert known is not None
    assert known.reason == "It changes routes."
    assert matcher.match([CART]) is not None
    assert matcher.match([OTHER]) is None
    assert not list(matcher.stale(everything))


def test_result_with_a_field_that_is_not_known_is_new() -> None:
    matcher = BaselineMatcher(parsed(TEXT), TODAY)
    second = Violation(CART.policy, CART.rule, CART.object, "spec.containers[name=proxy].resources")
    assert matcher.match([CART, second]) is None
    assert not list(matcher.expired())
    assert [entry.violation for entry, _ in matcher.stale(everything)] == [AGENT]


def test_entry_without_a_field_accepts_every_field() -> None:
    matcher = BaselineMatcher(parsed(TEXT), TODAY)
    with_field = Violation(AGENT.policy, AGENT.rule, AGENT.object, "spec.template")
    assert matcher.match([with_field]) is not None


def test_error_is_another_violation_than_a_failure() -> None:
    error = Violation(AGENT.policy, AGENT.rule, AGENT.object, is_error=True)
    assert BaselineMatcher(parsed(TEXT), TODAY).match([error]) is None


def test_second_object_of_an_identity_is_new() -> None:
    matcher = BaselineMatcher(parsed(TEXT), TODAY)
    assert matcher.match([AGENT]) is not None
    assert matcher.match([AGENT]) is None


def test_entries_end_after_their_last_day() -> None:
    baseline = parsed(TEXT)
    assert BaselineMatcher(baseline, date(2027, 1, 31)).match([CART]) is not None
    matcher = BaselineMatcher(baseline, date(2027, 2, 1))
    assert matcher.match([CART]) is None
    assert [entry.violation for entry in matcher.expired()] == [CART]
    assert not [entry for entry, _ in matcher.stale(everything) if entry.violation == CART]


def test_stale_entries_are_named_as_far_as_the_run_looked() -> None:
    matcher = BaselineMatcher(parsed(TEXT), TODAY)
    found = [(entry.violation, left) for entry, left in matcher.stale(everything)]
    assert found == [(AGENT, 0), (CART, 0)]
    assert not list(matcher.stale(lambda _violation: False))


def test_update_keeps_what_people_wrote() -> None:
    baseline = parsed(TEXT)
    matcher = BaselineMatcher(baseline, TODAY, updates=True)
    for violation in (AGENT, OTHER, OTHER):
        assert matcher.match([violation]) is not None
    text = baseline_text(baseline, matcher.updated(everything))
    assert text == TEXT.replace(
        """
  - policy: limits
    object: v1/Pod/shop/cart
    field: spec.containers[name=app].resources
    until: 2027-01-31
""",
        "",
    ).replace(
        "  # The node agent.\n",
        "  - policy: limits\n    object: v1/Pod/shop/other\n    field: spec.containers[0]\n"
        "    count: 2\n  # The node agent.\n",
    )


def test_update_keeps_what_the_run_did_not_look_at() -> None:
    baseline = parsed(TEXT)
    matcher = BaselineMatcher(baseline, TODAY, updates=True)
    entries = matcher.updated(lambda violation: violation.policy == "limits")
    assert [each.violation for each in entries] == [AGENT]


def test_update_does_not_renew_what_has_ended() -> None:
    baseline = parsed(TEXT)
    matcher = BaselineMatcher(baseline, date(2028, 1, 1), updates=True)
    assert matcher.match([CART]) is None
    (entry,) = matcher.updated(everything)
    assert entry.until == date(2027, 1, 31)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("  - ", "- ").replace("\n    ", "\n  "),
        TEXT.replace("\n", "\r\n"),
        TEXT.rstrip("\n"),
        f"---\n{TEXT}...\n",
        "apiVersion: chartkit.dev/v1\nkind: Baseline\nviolations: []\n",
        "{apiVersion: chartkit.dev/v1, kind: Baseline, violations: [{policy: a, object: b}]}",
        "violations:\n- &a {policy: x, object: z, reason: why}\n"
        "apiVersion: chartkit.dev/v1\nkind: Baseline\n",
        TEXT.replace("It changes routes.", "|\n      It changes\n      # routes.\n"),
        TEXT.replace("privileged", "&a privileged").replace("limits", "&a limits"),
    ],
)
def test_updated_text_reads_as_the_entries(text: str) -> None:
    baseline = parsed(text)
    new = [KnownViolation(OTHER, 3), KnownViolation(AGENT, 1, "# no comment: 'x'", TODAY)]
    kept = [each for each in baseline.entries if each.violation not in (OTHER, AGENT)]
    for entries in ([*new, *kept], [*kept, *new], kept[:1], []):
        found = parsed(baseline_text(baseline, entries)).entries
        assert [_without_index(each) for each in found] == [_without_index(e) for e in entries]


def _without_index(entry: KnownViolation) -> KnownViolation:
    return KnownViolation(entry.violation, entry.count, entry.reason, entry.until)


_TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
_ENTRIES = st.builds(
    KnownViolation,
    st.builds(Violation, _TEXTS, _TEXTS, _TEXTS, _TEXTS | st.just(""), st.booleans()),
    st.integers(1, 9),
    _TEXTS | st.just(""),
    st.none() | st.dates(min_value=date(1000, 1, 1)),
)


@given(st.lists(_ENTRIES, unique_by=lambda each: each.violation, max_size=4), st.randoms())
def test_any_entries_survive_the_text(entries: list[KnownViolation], order: random.Random) -> None:
    text = baseline_text(Baseline(FILE), entries)
    found = parsed(text)
    assert [_without_index(each) for each in found.entries] == entries
    shuffled = list(found.entries)
    order.shuffle(shuffled)
    again = parsed(baseline_text(found, shuffled)).entries
    assert [_without_index(each) for each in again] == [_without_index(e) for e in shuffled]


@from_table("before", "after", "message")
def test_mistakes_are_errors_with_their_place(before: str, after: str, message: str) -> None:
    assert message in str(error_of(InputError, parsed, TEXT.replace(before, after)))


def test_file_without_a_document_is_no_baseline(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("")
    with pytest.raises(InputError, match="one YAML document"):
        read_baseline(tmp_path / "b.yaml")


POD = tables(__file__)["pod"]


@from_table("pointer", "path")
def test_items_of_lists_have_their_names(pointer: str, path: str) -> None:
    assert field_path(POD, pointer) == path


def test_each_field_is_a_violation() -> None:
    result = RuleResult("p", "r", RuleType.VALIDATION, Status.FAIL, "no", fields=("/spec/a", "/b"))
    found = list(violations_of(Resource(POD), result))
    name = "v1/Pod/shop/cart"
    assert found == [Violation("p", "r", name, "spec.a"), Violation("p", "r", name, "b")]


def test_object_without_a_name_is_known_by_its_file() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}}
    name = object_name(Resource(pod, Location("a/pods.yaml", 7, 1, "/items/3")))
    assert name == "v1/Pod// in a/pods.yaml/items/3"
    assert kind_and_namespace(name) == ("v1", "Pod", "")
    assert object_name(Resource({"a": 1}, Location("a/b.json", 7))) == "a/b.json"


@from_table("name", "parts")
def test_kind_and_namespace_of_an_object(name: str, parts: list[str]) -> None:
    assert list(kind_and_namespace(name)) == parts
