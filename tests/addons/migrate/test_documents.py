"""`chartkit.api.migrate`: texts, verdicts and counterexamples of documents."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from chartkit.addons.migrate.conversion import Conversion, NotConvertible
from chartkit.addons.migrate.convert import Batch
from chartkit.api import Manifests, Verdict, load, migrate
from chartkit.model import Resource
from tests.api_page import run
from tests.data import beside

_TEXTS = beside(__file__)

POLICY = _TEXTS["policy"]
SIGNED = _TEXTS["signed"]


@pytest.mark.slow
def test_the_page_migrates_what_it_shows() -> None:
    run("Evaluate objects", "Migrate policies")


def test_a_rule_that_is_left_has_a_reason() -> None:
    migration = migrate(load(text=POLICY + SIGNED), prove=False)
    (policy,) = migration.policies
    assert [body["kind"] for body in policy.documents] == ["ValidatingPolicy"]
    assert policy.verdict is Verdict.UNPROVED
    assert policy.left.keys() == {"signed"}
    assert migration.text.startswith("# Who pays for it?\n")
    assert "# chartkit migrate: not converted: no kind of" in migration.text


def test_a_policy_that_kyverno_refuses_is_a_problem() -> None:
    text = POLICY.replace("rules:", "ruled:")
    migration = migrate(load(text=text, name="p.yaml"), prove=False)
    assert [str(each).partition(" ")[0] for each in migration.problems] == ["p.yaml:6:3:"]
    assert migration.policies[0].documents == ()


def test_other_objects_are_not_migrated() -> None:
    pod = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    migration = migrate(Manifests((pod,)))
    assert (migration.text, migration.policies) == ("", ())


def test_an_object_without_a_text_is_migrated() -> None:
    (policy,) = load(text=POLICY).objects
    assert "ValidatingPolicy" in migrate(Manifests((Resource(policy.body),)), prove=False).text


def test_a_difference_is_a_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = Batch.convert

    def wrong(
        batch: Batch, legacy: Resource, left: Mapping[int, NotConvertible] | None = None
    ) -> Conversion:
        right = convert(batch, legacy, left or {})
        body = right.documents[0]
        spec = {**body["spec"], "validations": [{"expression": "true", "message": "m"}]}
        return replace(right, documents=({**body, "spec": spec},))

    monkeypatch.setattr(Batch, "convert", wrong)
    given = load(text="{apiVersion: v1, kind: ConfigMap, metadata: {name: given}}")
    migration = migrate(load(text=POLICY), objects=given)
    (policy,) = migration.policies
    assert policy.verdict is Verdict.DIFFERS
    assert policy.documents == ()
    assert policy.counterexamples[0].difference.startswith("result: fail")
    assert policy.counterexamples[0].request["object"]["kind"] == "ConfigMap"
    assert "kind: ClusterPolicy" in migration.text
