from functools import cache
from itertools import product

import pytest

from chartkit.addons.operate.upgrade import Pair, parse_pair, shortest
from chartkit.errors import InputError
from chartkit.kyverno.matrix import known_clusters, matrix
from tests.data import from_table

PAIRS = [Pair(*each) for each in product(matrix(), known_clusters())]
INFINITE = 10**6


def one_step(before: Pair, after: Pair, skip_minors: bool) -> bool:
    """Whether one upgrade, and no other, lies between two pairs."""
    kyverno = list(matrix()).index(after.kyverno) - list(matrix()).index(before.kyverno)
    kubernetes = after.kubernetes.minor - before.kubernetes.minor
    if kubernetes == 0:
        return kyverno == 1 or (skip_minors and kyverno > 1)
    return kyverno == 0 and kubernetes == 1


@cache
def distances(skip_minors: bool) -> dict[tuple[Pair, Pair], int]:
    """The length of the shortest order between any two pairs, by relaxing every edge until
    nothing is shorter."""
    edges = [
        (before, after)
        for before, after in product(PAIRS, PAIRS)
        if after.is_supported() and one_step(before, after, skip_minors)
    ]
    found = {(pair, pair): 0 for pair in PAIRS}
    changed = True
    while changed:
        changed = False
        for start in PAIRS:
            for before, after in edges:
                length = found.get((start, before), INFINITE) + 1
                if length < found.get((start, after), INFINITE):
                    found[start, after] = length
                    changed = True
    return found


@pytest.mark.slow
@pytest.mark.parametrize("skip_minors", [False, True])
def test_agrees_with_a_search_over_all_pairs(skip_minors: bool) -> None:
    known = distances(skip_minors)
    for start, target in product(PAIRS, PAIRS):
        if start.kyverno > target.kyverno or start.kubernetes > target.kubernetes:
            continue
        route = shortest(start, target, skip_minors)
        assert route.exists == ((start, target) in known), (start, target)
        if not route.exists:
            continue
        assert len(route.steps) == known[start, target]
        assert (route.pairs[0], route.pairs[-1]) == (start, target)
        for before, after in route.steps:
            assert after.is_supported()
            assert one_step(before, after, skip_minors)


def test_kyverno_goes_first() -> None:
    route = shortest(parse_pair("1.18/1.34"), parse_pair("1.19/1.35"))
    assert [str(pair) for pair in route.pairs[1:]] == [
        "Kyverno 1.19 on Kubernetes 1.34",
        "Kyverno 1.19 on Kubernetes 1.35",
    ]


def test_an_unsupported_pair_has_a_way_out() -> None:
    assert not parse_pair("1.12/1.30").is_supported()
    route = shortest(parse_pair("1.12/1.30"), parse_pair("1.14/1.31"))
    assert len(route.steps) == 3
    stuck = shortest(parse_pair("1.8/1.27"), parse_pair("1.19/1.35")).stuck
    assert stuck == (parse_pair("1.8/1.27"),)


def test_where_nothing_leads_on() -> None:
    route = shortest(parse_pair("1.12/1.29"), parse_pair("1.12/1.31"))
    assert (route.exists, route.stuck) == (False, (parse_pair("1.12/1.29"),))


@from_table("start", "target", "message")
def test_no_way_back(start: str, target: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        shortest(parse_pair(start), parse_pair(target))


@pytest.mark.parametrize("text", ["1.12", "1.12/", "/1.29", "a/b", "1.12/1.29/1.30"])
def test_no_pair(text: str) -> None:
    with pytest.raises(InputError, match="is not a"):
        parse_pair(text)
