"""Reports that several processes write, each a part: they are those of one process."""

import pickle
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from chartkit.model import Location, Resource, RuleResult, RuleType, Status
from chartkit.report import FORMATS, ReportOptions, ReportPer
from chartkit.report.formats import writer_of
from chartkit.report.model import Divisible
from chartkit.report.spool import SortedSpool, Spool
from tests.unit.report.samples import HOSTILE, Added, facts, hostile, options, samples, written

GENERATED: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}


def objects() -> list[Added]:
    """Return results for objects in several namespaces, of several policies: what one part finds
    first is not what the others find first."""
    found = [*samples(), *hostile(HOSTILE["markdown"]), *hostile(HOSTILE["json"])]
    for number in range(6):
        metadata = {"name": f"n{number}", "namespace": f"team-{number % 3}", "labels": {"app": "a"}}
        body = {"apiVersion": "v1", "kind": f"Kind{number % 2}", "metadata": metadata}
        rows = [
            RuleResult(f"p{-at % 4}", f"r{at}", RuleType.VALIDATION, status, f"no\n{at}")
            for at, status in enumerate([Status.FAIL, Status.WARN, Status.PASS][number % 3 :])
        ]
        made = RuleResult(
            "p", "g", RuleType.GENERATION, Status.PASS, "made", generated=(GENERATED,)
        )
        found.append((Resource(body, Location("o.yaml", number + 1)), [*rows, made], {}))
    return found


def in_parts(name: str, given: ReportOptions, parts: Iterable[Iterable[Added]]) -> str:
    """Write a report as processes do that write more than one part each."""
    whole, others = (writer_of(name)(given) for _ in range(2))
    assert isinstance(whole, Divisible)
    assert isinstance(others, Divisible)
    counts: Counter[Status] = Counter()
    for part in parts:
        for resource, results, accepted in part:
            others.add(resource, results, accepted)
            counts.update(each.status for each in results)
        whole.append(pickle.loads(pickle.dumps(others.part())))  # noqa: S301 - our own
    return "".join(whole.finish(counts))


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize("per", ReportPer)
@pytest.mark.parametrize("name", FORMATS)
def test_parts_make_the_whole(name: str, per: ReportPer, size: int) -> None:
    given = replace(options(detailed=True), per=per, owner_label="app", comment_limit=2_500)
    given = replace(given, policies={f"p{each}": facts(f"p{each}") for each in ["", *range(4)]})
    added = objects()
    parts = [added[start : start + size] for start in range(0, len(added), size)]
    assert in_parts(name, given, parts) == written(name, given, added)


@pytest.mark.parametrize("name", FORMATS)
def test_parts_without_results(name: str) -> None:
    assert in_parts(name, options(), [[], []]) == written(name, options(), [])
    assert in_parts(name, options(), [[], samples(), []]) == written(name, options(), samples())


def test_a_part_of_what_is_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chartkit.report.spool._IN_MEMORY", 8)
    source, whole = Spool(), Spool()
    for part in ("one and two", "three", "", "four, five and six"):
        source.write(part)
        whole.append(source.part())
        assert source.size == 0
        assert "".join(source.pieces()) == ""
    assert "".join(whole.pieces()) == "one and twothreefour, five and six"


def test_texts_by_their_keys() -> None:
    source, whole = SortedSpool[str](), SortedSpool[str]()
    for part in ([("a", "1"), ("b", "2"), ("a", "3")], [("a", "4"), ("c", "5")]):
        for key, text in part:
            source.write(key, text)
        whole.append(source.part())
    assert {key: "".join(whole.pieces(key)) for key in "abc"} == {"a": "134", "b": "2", "c": "5"}
