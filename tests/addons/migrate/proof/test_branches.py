"""The branches of expressions that a proof reached."""

import pytest

from chartkit.addons.migrate.proof import ProofOptions, Reached, prove
from tests.addons.migrate.proof.policies import legacy, validating

_RULE = """
      validate:
        message: "no"
        pattern:
          spec:
            =(volumes):
              - X(hostPath): "null"
"""
_NEW = "object.spec.?volumes.orValue([]).all(volume, !has(volume.hostPath) || false)"


def _places(text: str) -> dict[str, Reached]:
    options = ProofOptions(budget=30, most_requests=600)
    proof = prove(legacy(_RULE), [validating(text)], options=options)
    assert proof.equal, proof.differences
    prefix = "ValidatingPolicy/example/validation 0: "
    places = {one.name.removeprefix(prefix): one for one in proof.coverage.places}
    return {name: one for name, one in places.items() if one.form == "new"}


@pytest.mark.slow
def test_lists_and_parts_of_conditions_are_reached_in_every_state() -> None:
    places = _places(_NEW)
    ranged = places["object.spec.?volumes.orValue([])"]
    assert set(ranged.states) == {"empty", "one", "many"}
    for text in ("has(volume.hostPath)", "!has(volume.hostPath)"):
        assert set(places[text].states) == {"true", "false"}
        assert not places[text].missing


def test_a_branch_that_no_request_takes_is_named() -> None:
    never = "|| object.metadata.namespace == 'no-such' + '-name'"
    places = _places(_NEW.replace("|| false", never))
    missing = {name: one.missing for name, one in places.items() if one.missing}
    assert ("true",) in missing.values()
