"""What a rule makes at random is no difference between two forms that both have it."""

from chartkit.addons.migrate.proof import ProofOptions, prove
from chartkit.model import Resource
from tests.addons.migrate.conversions import policy


def test_texts_made_at_random_are_equal() -> None:
    rule = (
        "mutate: {patchStrategicMerge: {metadata: {labels: {id: \"x-{{ random('[a-z]{9}') }}\"}}}}"
    )
    legacy = Resource(policy(rule))
    proof = prove(legacy, [legacy], options=ProofOptions(most_requests=40))
    assert proof.decided
    assert proof.equal
