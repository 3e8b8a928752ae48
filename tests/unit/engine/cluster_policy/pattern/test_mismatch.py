"""Which failures mean that a pattern does not apply."""

from chartkit.engine.cluster_policy.pattern.build import (
    Failure,
    combine,
    forbidden_key,
    unmet_condition,
    unmet_global,
)


def test_mismatch_kinds() -> None:
    assert unmet_condition("x", "/a/").skips
    assert unmet_global("x", "/a/").skips
    assert not forbidden_key("/a/").skips
    assert forbidden_key("/a/").forbids
    assert not Failure("/a/", "x").skips
    assert not Failure("/a/", "x").forbids


def test_a_condition_around_a_forbidden_key_skips() -> None:
    failure = unmet_condition(forbidden_key("/a/").text, "/a/")
    assert failure.skips
    assert not failure.forbids


def test_texts_count_as_well() -> None:
    assert Failure("/a/", "'conditional anchor mismatch' does not match").skips
    assert Failure("/a/", "'negation anchor matched in resource'").forbids


def test_mismatch_combined() -> None:
    failure = combine([unmet_condition("x", "/a/"), unmet_global("y", "/b/")], "/c/")
    assert failure.text == "conditional anchor mismatch: x; global anchor mismatch: y"
    assert failure.path == "/c/"
    assert failure.combined
    assert failure.skips
