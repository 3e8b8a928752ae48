"""Sets of policies that replace each other."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.network.admission.keeper import Keeper
from chartkit.network.admission.logs import Log
from chartkit.network.admission.metrics import Metrics
from chartkit.network.admission.review import parse_review
from chartkit.network.admission.served import Served
from tests.unit.network.admission.bodies import CEL, LABELS, TEAM, policies, review


@dataclass
class _Texts:
    """A source of policies; is_broken: whether they cannot be read."""

    is_broken: bool = False

    def load(self) -> Served:
        if self.is_broken:
            raise InputError("is broken")
        return Served(policies(TEAM, CEL, LABELS))

    def changed(self) -> bool:
        return True

    def close(self) -> None:
        pass


def _judge(keeper: Keeper, metrics: Metrics) -> None:
    for path in ("/validate", "/mutate"):
        found = keeper.judge.find(path)
        assert found is not None
        read = parse_review(review())
        metrics.review(read, found[0], keeper.judge.judge(read, *found), 0.001)


def test_policies_of_before_are_given_up(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    metrics = Metrics(tmp_path)
    keeper = Keeper(_Texts(), Log("error"), 1, metrics.reloaded)
    _judge(keeper, metrics)
    before = weakref.ref(keeper.judge)
    first = {id(each) for each in keeper.served.policies}
    assert keeper.reload()
    _judge(keeper, metrics)
    gc.collect()
    assert before() is None
    alive = [each for each in gc.get_objects() if id(each) in first]
    assert [each for each in alive if hasattr(each, "run_phase")] == []


def test_a_broken_set_is_not_used() -> None:
    source, lines = _Texts(), list[bytes]()
    counted: list[bool] = []
    keeper = Keeper(source, Log("info", lines.append), 1, counted.append)
    judge = keeper.judge
    source.is_broken = True
    assert not keeper.reload()
    assert keeper.judge is judge
    assert b"those from before stay" in lines[-1]
    assert b"is broken" in lines[-1]
    source.is_broken = False
    assert keeper.reload()
    assert counted == [False, True]
