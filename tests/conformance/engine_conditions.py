"""Runs the recorded cases of conditions: each stands for the policy that it was recorded with."""

import re
from typing import Any

from chartkit.engine.cluster_policy.conditions.blocks import compile_conditions
from chartkit.engine.cluster_policy.policy import ConditionsMalformed, read_policy
from chartkit.engine.cluster_policy.policy_check import policy_fault
from chartkit.engine.context.context import Context, admission_context
from chartkit.engine.context.variables import compile_template
from chartkit.errors import ChartkitError, CompileError
from chartkit.model import Body, Json, Resource
from tests.objects import api_object

_VALID_VALUES = re.compile(r"valid values: \[.*\]")
_CONFIG_MAP: Body = api_object("v1", "ConfigMap", "ns1/cm")


def run_case(case: dict[str, Any]) -> str | None:
    """What a case shows that was not recorded; None where it agrees."""
    body = _conditions(case)
    context = case["context"]
    deny = context == "deny"
    try:
        rejected = _rejected(body, deny)
    except (ConditionsMalformed, CompileError) as error:
        return None if case.get("policy_not_loaded") else f"malformed: {error}"
    if case.get("policy_not_loaded"):
        return "loaded, where Kyverno does not load it"
    if rejected is not None or case.get("policy_rejected"):
        return _differs(case["message"], _VALID_VALUES.sub("valid values: [...]", rejected or ""))
    return _evaluate(case, body, deny)


def _conditions(case: dict[str, Any]) -> Json:
    if case["any_all"] == "full":
        return case["condition"]
    return {case["any_all"]: [case["condition"]]}


def _rejected(body: Json, deny: bool) -> str | None:
    deny_body = {"conditions": body} if deny else {}
    rule: Body = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
        "validate": {"message": "M", "deny": deny_body},
    }
    if not deny:
        rule["preconditions"] = body
    policy: Body = api_object(
        "kyverno.io/v1", "ClusterPolicy", "p", spec={"background": False, "rules": [rule]}
    )
    return policy_fault(read_policy(Resource(policy)))


def _evaluate(case: dict[str, Any], body: Json, deny: bool) -> str | None:
    resource = case.get("resource", _CONFIG_MAP)
    namespace = resource["metadata"].get("namespace", "")
    context = admission_context(resource, namespace=namespace)
    failed = "failed to check deny conditions" if deny else "failed to evaluate preconditions"
    try:
        outcome = compile_conditions(body).evaluate(context)
    except ChartkitError as error:
        if case["expected"] != "error":
            return f"raised {error.message!r}, expected {case['expected']}"
        recorded = case["message"].removeprefix("panic: ")
        text = error.message if case.get("crash") else f"{failed}: {error.message}"
        return _differs(recorded, text)
    if str(outcome.holds).lower() != case["expected"]:
        return f"holds: {outcome.holds}, expected {case['expected']}"
    return _differs(case["message"], _message(outcome.holds, outcome.message, deny, context))


def _message(holds: bool, messages: str, deny: bool, context: Context) -> str:
    if not deny and not holds:
        return "; ".join(filter(None, ("preconditions not met", messages)))
    if deny and not holds:
        return "validation rule 'r' passed."
    shown = messages if deny else ""
    try:
        return str(compile_template("; ".join(filter(None, ("M", shown)))).resolve(context))
    except ChartkitError:
        return shown


def _differs(expected: str, found: str) -> str | None:
    return None if expected == found else f"message {found!r}, expected {expected!r}"
