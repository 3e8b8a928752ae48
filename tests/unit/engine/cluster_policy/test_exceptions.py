import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import bind_exceptions, read_exception
from chartkit.engine.cluster_policy.match import Facts
from chartkit.engine.context.context import admission_context
from chartkit.engine.kubernetes.definitions import POLICY_RULE, SCHEMA_RULE
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.objects import api_object
from tests.unit.engine.policies import obj, policy_resource, request, rule

POD = GroupVersionKind("", "v1", "Pod")
_PODS: Body = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def _exception(**spec: object) -> Resource:
    body: Body = api_object(
        "kyverno.io/v2",
        "PolicyException",
        "ns/e",
        spec={"match": _PODS, "exceptions": [{"policyName": "p", "ruleNames": ["r*"]}], **spec},
    )
    return Resource(body)


def _applies(exception: Resource, rule: str = "r", policy: str = "p") -> bool:
    bound = bind_exceptions([read_exception(exception)], policy, rule, POD, "")
    given = request(obj(labels={"app": "web"}))
    context = admission_context(given.resource.body)
    return any(one.applies(Facts(given), context) for one in bound)


def test_it_names_policies_and_rules() -> None:
    assert read_exception(_exception()).key == "ns/e"
    assert _applies(_exception())
    assert _applies(_exception(), rule="rest")
    assert not _applies(_exception(), rule="autogen-r")
    assert not _applies(_exception(), policy="prod/p")


def test_policy_names_take_no_wildcards() -> None:
    exceptions = [{"policyName": "*", "ruleNames": ["*"]}]
    assert not _applies(_exception(exceptions=exceptions))


def test_it_must_match() -> None:
    assert not _applies(_exception(match={"any": [{"resources": {"kinds": ["Service"]}}]}))
    assert not _applies(_exception(match={"any": [{"resources": {"names": ["b"]}}]}))
    assert not _applies(_exception(match={}))


@from_table("key", "applies")
def test_exceptions_conditions(key: str, applies: bool) -> None:
    conditions = {"all": [{"key": key, "operator": "Equals", "value": "web"}]}
    assert _applies(_exception(conditions=conditions)) is applies


def test_controls_are_kept_as_written() -> None:
    controls = [{"controlName": "Sysctls"}]
    assert read_exception(_exception(podSecurity=controls)).pod_security == tuple(controls)


@from_table("spec")
def test_exceptions_what_the_definition_does_not_take(spec: Body) -> None:
    with pytest.raises(CompileError) as caught:
        read_exception(_exception(**spec))
    assert caught.value.diagnostics[0].rule_id == SCHEMA_RULE


@from_table("spec", "fault")
def test_an_exception_that_the_webhook_refuses_is_named(spec: Body, fault: str) -> None:
    for background in (None, False):
        given = read_exception(_exception(**spec, background=background))
        warnings = compile_policy(policy_resource(rule()), [given]).warnings()
        said = [one.message for one in warnings if one.rule_id == POLICY_RULE]
        unasked = background is False and "match" in spec
        assert said == ([] if unasked else [f"exception ns/e: spec.{fault}"])
