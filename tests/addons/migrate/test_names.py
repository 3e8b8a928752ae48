"""Names of new policies: each has one of its own."""

import copy
from collections.abc import Iterator, Sequence

from chartkit.addons.migrate.convert import Batch
from chartkit.model import Resource
from tests.data import from_table


def _legacy(name: str, rules: Sequence[str], namespace: str = "") -> Resource:
    bodies = [
        {
            "name": rule,
            "match": {"any": [{"resources": {"kinds": [kind]}}]},
            "validate": {"message": "m", "pattern": {"metadata": {"labels": {"a": "?*"}}}},
        }
        for rule, kind in zip(rules, ("ConfigMap", "Secret", "Service"), strict=False)
    ]
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    kind = "Policy" if namespace else "ClusterPolicy"
    spec = {"background": False, "rules": bodies}
    return Resource(
        {"apiVersion": "kyverno.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
    )


def _names(*policies: Resource) -> list[str]:
    batch = Batch(policies)
    names = list(_of(batch, policies))
    # What another process gets knows the names, too.
    assert list(_of(copy.copy(batch), policies)) == names
    return names


def _of(batch: Batch, policies: Sequence[Resource]) -> Iterator[str]:
    for each in policies:
        yield from (body["metadata"]["name"] for body in batch.convert(each).documents)


@from_table("policies")
def test_no_two_policies_have_one_name(policies: Sequence[tuple[str, Sequence[str]]]) -> None:
    names = _names(*(_legacy(name, rules) for name, rules in policies))
    assert len(set(names)) == len(names) == sum(len(rules) for _, rules in policies)
    assert max(map(len, names)) <= 63


def test_names_follow_the_rules_where_they_can() -> None:
    assert _names(_legacy("a", ["b", "c"]), _legacy("a-d", ["x"])) == ["a-b", "a-c", "a-d"]
    assert _names(_legacy("a", ["b", "c"]), _legacy("a-b", ["x"], "shop")) == ["a-b", "a-c", "a-b"]
    assert _names(_legacy("a", ["Has Labels!", "has_limits"])) == ["a-has-labels", "a-has-limits"]


def test_what_judges_ephemeral_containers_has_a_name_of_its_own() -> None:
    for name, others in (("a", ["a-ephemeral"]), ("a" * 60, [])):
        judging = _legacy(name, ["r"])
        (rule,) = judging.body["spec"]["rules"]
        rule["match"]["any"][0]["resources"]["kinds"] = ["Pod", "Pod/ephemeralcontainers"]
        names = _names(judging, *(_legacy(other, ["r"]) for other in others))
        assert len(set(names)) == len(names) == 2 + len(others)
        assert max(map(len, names)) <= 63
