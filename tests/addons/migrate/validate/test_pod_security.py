"""Rules of the Pod Security Standards become a validation for each fact of their checks."""

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.differences import JOB_ANNOTATIONS, LATEST_STANDARD
from chartkit.model import Resource
from tests.addons.migrate.conversions import Converted, converted, one_line, policy
from tests.data import from_table


def _pss(settings: str, kind: str = "Pod") -> Converted:
    return converted(f"validate: {{podSecurity: {{{settings}}}}}", kind)


def _expression(converted_rule: Converted, words: str) -> str:
    (found,) = (
        one_line(each["expression"])
        for each in converted_rule.spec["validations"]
        if words in each["message"]
    )
    return found


def test_a_validation_a_fact() -> None:
    found = _pss("level: baseline, version: v1.29")
    assert found.changes == (JOB_ANNOTATIONS,)
    assert _expression(found, "hostPID") == "!object.spec.?hostPID.orValue(false)"
    assert _expression(found, "privileged") == (
        "variables.allContainers.all(container, "
        "!container.?securityContext.?privileged.orValue(false))"
    )
    messages = [each["message"] for each in found.spec["validations"]]
    assert len(set(messages)) == len(messages)
    assert all('It violates PodSecurity "baseline:v1.29": ' in each for each in messages)


def test_the_latest_standard_is_a_change() -> None:
    assert LATEST_STANDARD in _pss("level: baseline, version: latest").changes


def test_controllers_have_their_pods_in_templates() -> None:
    expression = _expression(
        _pss("level: baseline, version: v1.29", "apps/v1/Deployment"), "hostPID"
    )
    assert expression == "!object.spec.template.spec.?hostPID.orValue(false)"
    found = _pss("level: baseline, version: v1.29", "batch/v1/CronJob")
    assert found.changes == ()
    assert "object.spec.jobTemplate.?metadata.?annotations" in _expression(found, "annotations")


@from_table("exclude", "words", "expression")
def test_exclusions_lift_a_fact(exclude: str, words: str, expression: str) -> None:
    found = _pss(f"level: restricted, version: v1.29, exclude: [{{{exclude}}}]")
    assert expression in _expression(found, words)


def test_an_exclusion_of_one_list_leaves_the_others() -> None:
    found = _pss(
        "level: baseline, version: v1.29, exclude: [{controlName: Capabilities, images: ['*'], "
        "restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: [X*]}]"
    )
    expression = _expression(found, "capabilities")
    assert "object.spec.containers.all(container" in expression
    assert expression.count("capability.startsWith('X')") == 1


def test_excluded_controls_are_gone() -> None:
    exclude = "{controlName: Seccomp}, {controlName: Seccomp, images: ['*']}"
    found = _pss(f"level: restricted, version: v1.29, exclude: [{exclude}]")
    assert "seccomp" not in str(found.documents)


@from_table("settings", "kind", "reason")
def test_rules_that_stay(settings: str, kind: str, reason: str) -> None:
    assert reason in _pss(settings, kind).reason


def test_deletions_have_no_pod() -> None:
    body = policy("validate: {podSecurity: {level: baseline}}", "Pod")
    body["spec"]["rules"][0]["match"]["any"][0]["resources"]["operations"] = ["DELETE"]
    (outcome,) = convert(Resource(body)).outcomes
    assert "no Pod to judge" in outcome.reason
