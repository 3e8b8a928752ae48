"""Recorded cases whose images are in public registries, against a registry that stands in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.image_registry import StandIn, local_key, read_case, said_of, standing_in
from tests.shared import shared

CASES = ("test/images/signatures", "test/images/secure-images", "registry")


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_recorded_image_cases_come_out(name: str, stand_in: StandIn, tmp_path: Path) -> None:
    case = read_case(shared(f"conformance/kyverno-cli/{name}"))
    said = said_of(case, local_key(stand_in), stand_in.options, tmp_path)
    assert {key: said.get(key) for key in case.wanted} == {
        key: {result} for key, result in case.wanted.items()
    }


def test_a_policy_with_its_own_key_refuses_what_was_signed_here(
    stand_in: StandIn, tmp_path: Path
) -> None:
    case = read_case(shared(f"conformance/kyverno-cli/{CASES[0]}"))
    said = said_of(case, {}, stand_in.options, tmp_path)
    assert {said[key] == {"fail"} for key in case.wanted} == {True}


def test_nothing_passes_offline(tmp_path: Path) -> None:
    case = read_case(shared(f"conformance/kyverno-cli/{CASES[0]}"))
    said = said_of(case, {}, (), tmp_path)
    assert not any("pass" in results for results in said.values())
