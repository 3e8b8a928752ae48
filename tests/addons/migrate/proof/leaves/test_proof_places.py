"""The places that expressions look at, and values around the literals there."""

import pytest

from chartkit.addons.migrate.proof import ProofOptions, prove
from chartkit.addons.migrate.proof.leaves.cel import cel_leaves
from chartkit.addons.migrate.proof.leaves.leaf import Leaf, around, matching, of_pattern
from chartkit.addons.migrate.proof.leaves.legacy import legacy_leaves
from chartkit.addons.migrate.proof.leaves.paths import path_text
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cluster_policy.policy import read_policy
from chartkit.errors import InputError
from chartkit.model import Json
from tests.addons.migrate.proof.policies import legacy, validating
from tests.data import beside, from_table

_CONDITION = beside(__file__)["condition"]


def _values(leaves: list[Leaf]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for leaf in leaves:
        found.setdefault(path_text(leaf.path), []).extend(leaf.values)
    return found


@from_table("key", "value")
def test_what_the_old_form_alone_looks_at_is_found(key: str, value: str) -> None:
    rule = _CONDITION.replace("KEY", key).replace("VALUE", value)
    options = ProofOptions(budget=30, most_requests=1_000, stops_early=True)
    old = legacy(rule, spec="background: false")
    proof = prove(old, [validating("true")], options=options)
    assert [one for one in proof.differences if one.stored]


def test_a_path_of_a_patch_in_a_loop() -> None:
    rule = """
      mutate:
        foreach:
          - list: request.object.spec.containers
            patchesJson6902: |-
              - {op: remove, path: "/spec/containers/{{elementIndex}}/tty"}
"""
    assert "object.spec.containers[].tty" in _values(list(legacy_leaves(read_policy(legacy(rule)))))


@from_table("expression", "place", "literal")
def test_cel(expression: str, place: str, literal: object) -> None:
    found = _values(list(cel_leaves(read_cel_policy(validating(expression)))))
    assert place in found
    if literal is not None:
        assert literal in found[place]


@pytest.mark.parametrize("operator", [" + ", " && ", " || "])
def test_a_long_chain_has_the_places_of_all_its_parts(operator: str) -> None:
    text = "object.metadata.name" if operator == " + " else "object.metadata.name == 'a'"
    chain = operator.join([text, *[text.replace("name", "namespace")] * 240])
    rule = f"({chain}) != 'b'" if operator == " + " else chain
    found = _values(list(cel_leaves(read_cel_policy(validating(rule)))))
    assert {"object.metadata.name", "object.metadata.namespace"} <= set(found)


@pytest.mark.parametrize("depth", [10, 150, 215])
def test_a_proof_has_every_leaf_or_names_what_nests_too_deep(depth: int) -> None:
    # How deep a recursion may go differs between releases of Python.
    policy = read_cel_policy(validating("!(" * depth + "object.a == 1" + ")" * depth))
    message = ""
    leaves: dict[str, list[object]] = {}
    try:
        leaves = _values(list(cel_leaves(policy)))
    except InputError as error:
        message = error.message
    assert "object.a" in leaves or (depth > 150 and "nests too deep" in message)


@from_table("literal", "expected")
def test_values_around_a_literal(literal: Json, expected: list[Json]) -> None:
    found = around(literal)
    assert [one for one in expected if one not in found] == []


@from_table("pattern", "met", "missed")
def test_values_around_a_pattern_by_what_it_takes(
    pattern: Json, met: list[Json], missed: list[Json]
) -> None:
    taken, refused = of_pattern(pattern)
    assert [one for one in met if one not in taken] == []
    assert [one for one in missed if one not in refused] == []


@from_table("pattern", "sample")
def test_texts_that_a_regular_expression_matches(pattern: str, sample: str) -> None:
    assert sample in matching(pattern)


def test_a_number_of_any_length_is_a_text() -> None:
    met, missed = of_pattern("1" * 5000)
    assert all(not isinstance(value, int) or abs(value) < 10**40 for value in [*met, *missed])
