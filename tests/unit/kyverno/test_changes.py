"""What Kyverno versions change: the released ones, and those that are announced."""

import json
import re
from datetime import date
from itertools import pairwise

import pytest

from chartkit.addons.operate.upgrade import Plan, parse_pair, report, shortest
from chartkit.errors import InputError
from chartkit.kyverno.known_faults import Announcement, announced, changes, refuses_legacy_policies
from chartkit.kyverno.matrix import compatibility, matrix
from chartkit.render.compatibility import as_json, as_text, pair
from tests.command_reports import OWN, in_format

_SOURCE = re.compile(r"https://github\.com/kyverno/kyverno/(issues|pull)/\d+")
_NEWEST = list(matrix())[-1]
_LEGACY = ("ClusterPolicy", "Policy", "CleanupPolicy", "ClusterCleanupPolicy", "PolicyException")


def _plan(start: str, target: str) -> Plan:
    first, last = parse_pair(start), parse_pair(target)
    return Plan(first, last, shortest(first, last), None, False, date.today())


def test_announced_versions_follow_the_released_ones() -> None:
    versions = [_NEWEST, *announced()]
    assert all(newer == older.next_minor() for older, newer in pairwise(versions))
    assert not set(announced()) & set(changes())
    assert refuses_legacy_policies() in {*announced(), *changes()}


def test_every_announced_change_has_sources() -> None:
    for announcement in announced().values():
        assert announcement.changes
        for change in announcement.changes:
            assert change.sources
            assert all(map(_SOURCE.fullmatch, change.sources))


def test_the_gate_names_the_five_kinds_and_the_opt_out() -> None:
    version = refuses_legacy_policies()
    found = changes()[version] if version in changes() else announced()[version].changes
    text = found[0].text
    assert all(re.search(rf"\b{kind}\b", text) for kind in _LEGACY)
    assert "upgrade.allowLegacyPolicies" in text


@pytest.mark.parametrize("announcement", announced().values(), ids=lambda each: str(each.version))
def test_an_announced_version_is_no_supported_pair(announcement: Announcement) -> None:
    version = announcement.version
    with pytest.raises(InputError, match="is announced and not yet released"):
        compatibility(version)
    for cluster in (None, matrix()[_NEWEST].newest):
        subject = pair(f"Kyverno {version}", version, cluster, date.today())
        assert not subject.supported
        text = as_text(subject)
        assert text.startswith(f"Kyverno {version}: announced\n")
        assert "chartkit migrate plan" in text
        body = as_json(subject)
        assert (body["status"], body["supported"]) == ("announced", False)
        assert body["announced"] == [each.as_json() for each in announcement.changes]
        assert all(source in text for each in announcement.changes for source in each.sources)


def test_a_released_version_announces_nothing() -> None:
    assert as_json(pair("x", _NEWEST, None, date.today()))["announced"] == []


@pytest.mark.parametrize("name", OWN)
def test_a_plan_to_an_announced_version_says_what_it_changes(name: str) -> None:
    last = list(announced())[-1]
    cluster = matrix()[_NEWEST].newest
    text = in_format(report(_plan(f"{_NEWEST}/{cluster}", f"{last}/{cluster}")), name)
    for announcement in announced().values():
        assert announcement.changes[0].sources[0] in text
    assert "chartkit migrate plan" in text
    assert f"which Kubernetes versions Kyverno {last} supports is not known yet" in text


def test_a_plan_to_the_newest_release_names_the_next_one() -> None:
    cluster = matrix()[_NEWEST].newest
    newest, older = f"{_NEWEST}/{cluster}", list(matrix())[-2]
    (upcoming,) = json.loads(in_format(report(_plan(newest, newest)), "json"))["announced"]
    assert upcoming["version"] == str(next(iter(announced())))
    assert "chartkit migrate plan" in in_format(report(_plan(newest, newest)), "text")
    earlier = _plan(f"{older}/{cluster}", f"{older}/{cluster}")
    assert json.loads(in_format(report(earlier), "json"))["announced"] == []


def test_no_order_begins_at_an_announced_version() -> None:
    version = next(iter(announced()))
    with pytest.raises(InputError, match="is announced"):
        _plan(f"{version}/1.35", f"{version}/1.35")
