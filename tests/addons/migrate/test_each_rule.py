"""Each rule has its own verdict: one that is left, or that Kyverno refuses, takes no other."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.addons.migrate.admission import Target
from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import Batch, convert
from chartkit.addons.migrate.files.report import report
from chartkit.engine.cluster_policy import autogen
from chartkit.errors import CompileError
from chartkit.model import Body, Location, Resource, mapping_at
from tests.addons.migrate.files.migrations import migrated
from tests.command_reports import in_format
from tests.data import from_table, tables

_MEMORY = Location("policy.yaml", path="")


def _rule(name: str, kind: str = "Pod", **action: Any) -> Body:
    return {"name": name, "match": {"any": [{"resources": {"kinds": [kind]}}]}, **action}


def _cel(name: str, expression: str, kind: str = "Pod") -> Body:
    cel = {"expressions": [{"expression": expression}]}
    return _rule(name, kind, validate={"message": "m", "cel": cel})


def _pattern(name: str, label: str = "team") -> Body:
    pattern = {"metadata": {"labels": {label: "?*"}}}
    return _rule(name, validate={"message": "m", "pattern": pattern})


_GOOD = _cel("good", "!object.spec.?hostNetwork.orValue(false)")
_BAD = _cel("bad", "has(object.data['a'])", "ConfigMap")
_ASKED = {"all": [{"key": "a", "operator": "Like", "value": "b"}]}
_REFUSED = _rule("refused", validate={"message": "m", "deny": {"conditions": _ASKED}})


def _policy(*rules: Body) -> Resource:
    body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}}
    return Resource({**body, "spec": {"background": False, "rules": [*rules]}}, _MEMORY)


def _verdicts(conversion: Conversion) -> dict[str, bool]:
    return {outcome.rule: outcome.converted for outcome in conversion.outcomes}


@pytest.mark.parametrize("rules", [[_GOOD, _BAD], [_BAD, _GOOD]])
def test_cel_that_does_not_compile_is_left_alone(rules: list[Body]) -> None:
    conversion = convert(_policy(*rules))
    assert _verdicts(conversion) == {"good": True, "bad": False} == _verdicts(conversion)
    left = next(outcome for outcome in conversion.outcomes if not outcome.converted)
    assert "invalid argument to has() macro" in left.reason
    assert left.reason.endswith("every object fails a rule whose CEL does not compile)")
    assert left.location.path == f"/spec/rules/{rules.index(_BAD)}"
    assert [body["metadata"]["name"] for body in conversion.documents] == ["p"]
    assert conversion.remaining is not None
    assert conversion.remaining["spec"]["rules"] == [_BAD]


def test_of_rules_that_share_a_policy_the_bad_one_is_left() -> None:
    """Both would be validations of one policy, which is refused as a whole."""
    bad = _cel("bad", "nosuch(object)")
    conversion = convert(_policy(_GOOD, bad, _cel("fine", "object.spec.containers.size() < 9")))
    assert _verdicts(conversion) == {"good": True, "bad": False, "fine": True}
    (new,) = conversion.documents
    assert len(new["spec"]["validations"]) == 2


@from_table("rule", "path", "reason")
def test_a_reason_names_its_query_and_place(rule: Body, path: str, reason: str) -> None:
    plain = {"key": "a", "operator": "AnyIn", "value": ["a"]}
    for body in mapping_at(rule, "deny", "conditions").get("any", ()):
        body.update({key: value for key, value in plain.items() if key not in body})
    (outcome,) = convert(_policy(_rule("left", validate={"message": "m", **rule}))).outcomes
    assert outcome.location.path == f"/spec/rules/0{path}"
    assert outcome.reason.endswith(reason)


def test_a_rule_that_kyverno_refuses_is_left_alone() -> None:
    conversion = convert(_policy(_pattern("sound"), _REFUSED))
    sound, refused = conversion.outcomes
    assert sound.changes == (
        "Kyverno refuses the policy that it is in, so that the rule acts nowhere; the new one does",
    )
    assert refused.reason.startswith("Kyverno refuses it: ")
    assert refused.location.path.startswith("/spec/rules/1/validate/deny")
    assert conversion.standing is None
    assert conversion.accepted is not None
    assert [rule["name"] for rule in conversion.accepted.body["spec"]["rules"]] == ["sound"]


def test_rules_that_kyverno_refuses_together_are_no_conversion() -> None:
    with pytest.raises(CompileError, match="uplicate"):
        convert(_policy(_pattern("same"), _pattern("same", "owner")))


def test_an_exception_follows_the_rule_that_converts() -> None:
    exception = tables(__file__)["exception"]
    policy, let_off = _policy(_GOOD, _BAD), Resource(exception, _MEMORY)
    conversion = Batch([policy, let_off]).convert(let_off)
    (new,) = conversion.documents
    assert new["spec"]["policyRefs"] == [{"kind": "ValidatingPolicy", "name": "p"}]
    assert conversion.remaining is None


_GENERATE = tables(__file__)["generate"]
_HARD = {"all": [{"key": "{{ nosuch(@) }}", "operator": "Equals", "value": 1}]}


def test_the_remainder_is_extended_as_the_whole_policy_was() -> None:
    """A rule that generates keeps Kyverno from extending the others to pod controllers."""
    left = {**_pattern("left"), "preconditions": _HARD}
    alone, beside = (
        convert(_policy(left, *others))
        for others in ((_pattern("fine"),), (_rule("generated", generate=_GENERATE),))
    )
    assert alone.remaining is not None
    assert beside.remaining is not None
    assert _verdicts(beside) == {"left": False, "generated": True}
    assert "annotations" not in alone.remaining["metadata"]
    assert beside.remaining["metadata"]["annotations"] == {autogen.ANNOTATION: "none"}


def test_the_text_of_the_remainder_keeps_its_comments(tmp_path: Path) -> None:
    rules = [{**_pattern("left"), "preconditions": _HARD}, _rule("made", generate=_GENERATE)]
    text = yaml.safe_dump(_policy(*rules).body, sort_keys=False)
    file = tmp_path / "p.yaml"
    file.write_text(text.replace("spec:\n", "# by the platform\nspec:\n", 1))
    left = migrated(file).text.partition("\n---\n")[2]
    assert "# by the platform\nspec:\n" in left
    assert yaml.safe_load(left)["metadata"]["annotations"] == {autogen.ANNOTATION: "none"}


def test_files_have_the_rest_next_to_a_policy_that_kyverno_refuses(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(yaml.safe_dump(_policy(_pattern("sound"), _REFUSED).body, sort_keys=False))
    found = migrated(file, prove=True, proof_seconds=0.3)
    assert found.exit_code(check=False) == 2
    (one,) = found.objects
    assert one.proof is not None
    assert one.proof.equal
    new, left = yaml.safe_load_all(found.text)
    assert (new["kind"], left["kind"]) == ("ValidatingPolicy", "ClusterPolicy")
    assert [rule["name"] for rule in left["spec"]["rules"]] == ["refused"]


@pytest.mark.parametrize("other", [_BAD, _REFUSED])
def test_a_policy_stays_in_one_piece_on_demand(other: Body) -> None:
    legacy = _policy(_GOOD, other)
    conversion = Batch([legacy], Target(splits=False)).convert(legacy)
    name = other["name"]
    assert (conversion.documents, _verdicts(conversion)) == ((), {"good": False, name: False})
    assert conversion.outcomes[0].reason == (
        f"rule {name} of its policy is left, and --no-split keeps the policy in one piece"
    )
    assert conversion.remaining == legacy.body
    whole = _policy(_GOOD)
    assert _verdicts(Batch([whole], Target(splits=False)).convert(whole)) == {"good": True}


def test_the_report_says_what_moves_and_what_stays(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(yaml.safe_dump(_policy(_GOOD, _BAD).body))
    for name in ("text", "markdown"):
        text = " ".join(in_format(report(migrated(file)), name).split())
        assert "good → ValidatingPolicy/p; bad stays" in text


@pytest.mark.parametrize("spec", [[], {"rules": {"a": "b"}}, {"rules": [5, None]}, "x"])
def test_policies_of_no_shape_stay_as_they_are(tmp_path: Path, spec: Any) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(yaml.safe_dump({**_policy().body, "spec": spec}))
    found = migrated(file)
    assert (found.exit_code(check=False), found.objects[0].documents) == (2, ())
    assert yaml.safe_load(found.text)["spec"] == spec
