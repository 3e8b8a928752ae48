"""What a rule makes at random or of the time is no difference between two forms that have both."""

from dataclasses import replace
from itertools import count

from chartkit.addons.migrate.proof import ProofOptions, prove
from chartkit.engine.jmespath.nodes import current_sources, use_sources
from chartkit.model import Resource
from tests.addons.migrate.conversions import policy, proved


def test_texts_made_at_random_are_equal() -> None:
    rule = (
        "mutate: {patchStrategicMerge: {metadata: {labels: {id: \"x-{{ random('[a-z]{9}') }}\"}}}}"
    )
    legacy = Resource(policy(rule))
    proof = prove(legacy, [legacy], options=ProofOptions(most_requests=40))
    assert proof.decided
    assert proof.equal


def test_the_time_that_passes_between_two_forms_is_no_difference() -> None:
    rule = 'mutate: {patchStrategicMerge: {metadata: {annotations: {at: "{{ time_now_utc() }}"}}}}'
    seconds = count(1_700_000_000_000_000_000, 1_000_000_000)
    with use_sources(replace(current_sources(), now=lambda: next(seconds))):
        proved(rule, requests=40)
