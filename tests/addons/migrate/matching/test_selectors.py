"""Selectors of labels with wildcards, which Kyverno fills in from the labels of an object."""

from chartkit.addons.migrate.proof import ProofOptions, prove
from chartkit.model import Resource
from tests.addons.migrate.conversions import converted
from tests.data import from_table


@from_table("selector", "expression")
def test_labels_with_wildcards(selector: str, expression: str) -> None:
    resources = f"{{kinds: [ConfigMap], selector: {{matchLabels: {selector}}}}}"
    found = converted(
        f"match: {{any: [{{resources: {resources}}}]}}\n"
        "validate: {message: m, pattern: {data: {a: '?*'}}}"
    )
    assert found.conditions == [expression]
    forms = [Resource(each) for each in found.documents]
    proof = prove(found.legacy, forms, options=ProofOptions(most_requests=300))
    assert proof.equal, proof.differences
