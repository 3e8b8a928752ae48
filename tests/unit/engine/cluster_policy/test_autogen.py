from typing import Any

from chartkit.engine.cluster_policy.autogen import (
    ANNOTATION,
    all_rules,
    controllers,
    rules_for_kind,
)
from chartkit.engine.cluster_policy.policy import Policy, Rule, read_policy
from chartkit.model import Body, Resource
from tests.data import from_table, tables
from tests.unit.engine.policies import policy, rule

ALL = {
    "DaemonSet",
    "Deployment",
    "Job",
    "StatefulSet",
    "ReplicaSet",
    "ReplicationController",
    "CronJob",
}


def _made(given: Policy, kind: str) -> Rule:
    rules = rules_for_kind(given, controllers(given), kind)
    assert len(rules) == 2
    return rules[1]


def _annotated(value: str, *rules: Body) -> Policy:
    body = policy(*rules).resource.body
    metadata = {"name": "p", "annotations": {ANNOTATION: value}}
    return read_policy(Resource({**body, "metadata": metadata}))


def test_a_rule_for_pods_stands_for_controllers() -> None:
    made = _made(policy(), "Deployment")
    assert made.name == "autogen-r"
    assert made.match.any[0].kinds == ("apps/v1/Deployment",)
    assert made.validate.pattern == {"spec": {"template": {"metadata": {"name": "?*"}}}}


def test_and_for_cron_jobs_one_level_deeper() -> None:
    made = _made(policy(), "CronJob")
    assert made.name == "autogen-cronjob-r"
    assert made.match.any[0].kinds == ("batch/v1/CronJob",)
    pattern = {"metadata": {"name": "?*"}}
    assert made.validate.pattern == {"spec": {"jobTemplate": {"spec": {"template": pattern}}}}


def test_pods_keep_their_own_rules() -> None:
    given = policy()
    assert controllers(given) == ALL
    assert rules_for_kind(given, controllers(given), "Pod") == given.rules


def test_all_rules_list_every_controller_at_once() -> None:
    names = [(one.name, len(one.match.kinds)) for one in all_rules(policy())]
    assert names == [("r", 1), ("autogen-r", 6), ("autogen-cronjob-r", 1)]


@from_table("block")
def test_what_switches_it_off(block: Body) -> None:
    match = {"any": [{"resources": {"kinds": ["Pod"], **block}}]}
    assert controllers(policy(rule(match=match))) == frozenset()


@from_table("parts")
def test_one_rule_switches_it_off_for_all(parts: dict[str, Any]) -> None:
    assert controllers(policy(rule("a"), rule("b", **parts))) == frozenset()


def test_the_annotation_names_the_controllers() -> None:
    given = _annotated("Deployment,CronJob")
    assert controllers(given) == {"Deployment", "CronJob"}
    assert rules_for_kind(given, controllers(given), "Job") == given.rules
    assert controllers(_annotated("none")) == frozenset()


def test_a_custom_controller_in_the_annotation() -> None:
    made = _made(_annotated("Rollout"), "Rollout")
    assert made.match.any[0].kinds == ("Rollout",)


def test_names_are_cut_at_63_characters() -> None:
    name = "n" * 60
    assert _made(policy(rule(name)), "Deployment").name == f"autogen-{'n' * 55}"
    assert _made(policy(rule(name)), "CronJob").name == f"autogen-cronjob-{'n' * 47}"


def test_written_autogen_rules_give_way_to_made_ones() -> None:
    given = policy(rule("r"), rule("autogen-r", ("Deployment",)))
    rules = rules_for_kind(given, controllers(given), "Deployment")
    assert [one.name for one in rules] == ["r", "autogen-r"]
    assert rules[1].match.any[0].kinds == ("apps/v1/Deployment",)


def test_exclude_keeps_what_does_not_speak_of_pods() -> None:
    exclude = {"any": [{"resources": {"kinds": ["Pod"]}}, {"resources": {"namespaces": ["x"]}}]}
    made = _made(policy(rule(exclude=exclude)), "Deployment")
    assert made.exclude is not None
    assert [one.kinds for one in made.exclude.any] == [("apps/v1/Deployment",), ()]
    cron = _made(policy(rule(exclude=exclude)), "CronJob")
    assert cron.exclude is not None
    assert [one.kinds for one in cron.exclude.any] == [("batch/v1/CronJob",)] * 2


def test_an_exclude_of_other_kinds_makes_no_rule() -> None:
    exclude = {"any": [{"resources": {"kinds": ["Service"]}}]}
    given = policy(rule(exclude=exclude))
    assert rules_for_kind(given, controllers(given), "Deployment") == given.rules


def test_variables_speak_of_the_template() -> None:
    conditions = tables(__file__)["conditions"]
    parts = {"message": "{{request.object.spec.a}}", "deny": {"conditions": conditions}}
    made = _made(policy(rule(validate=parts)), "CronJob")
    inner = "spec.jobTemplate.spec.template"
    assert made.validate.message == f"{{{{request.object.{inner}.spec.a}}}}"
    assert made.validate.deny is not None
    condition = made.validate.deny["conditions"]["all"][0]
    assert condition["key"] == f"{{{{ request.object.{inner}.metadata.name }}}}"
    assert condition["value"] == f"{{{{ request.oldObject.{inner}.spec.x }}}}"


@from_table("action", "made")
def test_autogen_actions(action: Body, made: Body) -> None:
    assert _made(policy(rule(**action)), "Deployment").body["validate"] == made


def test_cluster_policy_autogen_mutations() -> None:
    merge = {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}
    given = rule(mutate=merge)
    del given["validate"]
    made = _made(policy(given), "Deployment")
    template = {"metadata": {"labels": {"a": "b"}}}
    assert made.mutate == {"patchStrategicMerge": {"spec": {"template": template}}}
    given["mutate"] = {"foreach": [{"list": "x", "order": "Ascending", **merge}]}
    made = _made(policy(given), "Deployment")
    patch = {"spec": {"template": template}}
    assert made.mutate == {"foreach": [{"list": "x", "patchStrategicMerge": patch}]}


def test_the_policy_stays_as_it_was() -> None:
    given = policy()
    before = str(given.resource.body)
    all_rules(given)
    assert str(given.resource.body) == before
