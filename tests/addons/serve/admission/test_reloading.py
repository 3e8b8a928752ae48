"""Sets of policies that replace each other."""

import gc
import weakref
from dataclasses import dataclass
from pathlib import Path

import pytest

from chartkit.addons.serve.admission.judge import PolicyReloader
from chartkit.addons.serve.admission.metrics import Metrics
from chartkit.addons.serve.admission.review import parse_review
from chartkit.addons.serve.admission.selection import Served
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.errors import InputError
from tests.addons.serve.admission.bodies import CEL, LABELS, TEAM, policies, review


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


def _judge(reloader: PolicyReloader, metrics: Metrics) -> None:
    for path in ("/validate", "/mutate"):
        found = reloader.judge.find(path)
        assert found is not None
        read = parse_review(review())
        for _ in range(12):  # The last ones are equal to others.
            metrics.review(read, found[0], reloader.judge.judge(read, *found), 0.001)


def test_policies_of_before_are_given_up(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    metrics = Metrics(tmp_path)
    reloader = PolicyReloader(_Texts(), Log("error"), 1, metrics.reloaded)
    _judge(reloader, metrics)
    before = weakref.ref(reloader.judge)
    first = {id(each) for each in reloader.served.policies}
    assert reloader.reload()
    _judge(reloader, metrics)
    gc.collect()
    assert before() is None
    alive = [each for each in gc.get_objects() if id(each) in first]
    assert [each for each in alive if hasattr(each, "run_phase")] == []


def test_a_broken_set_is_not_used() -> None:
    source, lines = _Texts(), list[bytes]()
    counted: list[bool] = []
    reloader = PolicyReloader(source, Log("info", lines.append), 1, counted.append)
    judge = reloader.judge
    source.is_broken = True
    assert not reloader.reload()
    assert reloader.judge is judge
    assert b"those from before stay" in lines[-1]
    assert b"is broken" in lines[-1]
    source.is_broken = False
    assert reloader.reload()
    assert counted == [False, True]
