"""Paths with list places, and what one comparison remembers."""

from chartkit.engine.cluster_policy.pattern.build import Path, Run, Spot
from chartkit.engine.cluster_policy.pattern.match import _compile


def test_build_path() -> None:
    path = Path().child("spec").child("containers").each().child("ports").each()
    assert path.at((1, 20)) == "/spec/containers/1/ports/20/"
    assert Path().at(()) == "/"


def test_spot_keeps_the_key_as_written() -> None:
    spot = Spot(_compile).key("a", "=(a)").each(0)
    assert (spot.path.at((3,)), spot.position) == ("/a/3/", ("=(a)", "0"))


def test_build_run() -> None:
    run = Run()
    assert not run.is_key_missing
    run.found["(a)"] = False
    assert run.is_key_missing
