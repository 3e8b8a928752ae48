"""Manifests rules: what can be said before a signature is verified."""

from dataclasses import replace
from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation
from chartkit.errors import CompileError
from chartkit.model import Body
from tests.data import from_table
from tests.unit.engine.policies import obj, policy_resource, request, rule

MESSAGE = "cosign.sigstore.dev/message"
NOT_FOUND = "YAML manifest not found for this resource: message not found"
ERROR = "error occurred during manifest verification: "


def judge(*sets: Body, annotations: Body | None = None, **manifests: Any) -> tuple[str, str]:
    parts = {"manifests": {"attestors": list(sets), **manifests}}
    compiled = compile_policy(policy_resource(rule(validate=parts), background=False))
    (result,) = evaluate([compiled], request(obj(annotations=annotations or {})))
    return result.status, result.message


def attestors(*entries: Body, **fields: Any) -> Body:
    return {"entries": list(entries), **fields}


def failed(required: int, *reasons: str) -> tuple[str, str]:
    text = f"verifiedCount 0; requiredCount {required}; message {','.join(reasons)}"
    return "fail", f"manifest verification failed; {text}"


def test_an_object_that_nobody_signed_fails() -> None:
    place = ".attestors[0].entries[{}]{}: ".format
    assert judge(attestors({})) == failed(1, place(0, "") + NOT_FOUND)
    both = place(0, ".keys") + NOT_FOUND, place(1, ".keyless") + NOT_FOUND
    assert judge(attestors({"keys": {}}, {"keyless": {}})) == failed(2, *both)
    assert judge(attestors({"keys": {}}, {"keyless": {}}, count=1)) == failed(1, *both)
    assert judge({}) == failed(0)


def test_several_keys_in_one_entry_are_as_many_entries() -> None:
    pem = "-----BEGIN PUBLIC KEY-----\nYQ==\n-----END PUBLIC KEY-----\n"
    status, message = judge(attestors({"keys": {"publicKeys": pem * 2}}))
    assert status == "fail"
    assert ".entries[1].keys: " in message


def test_nested_attestors() -> None:
    nested = attestors({"attestor": attestors({"certificates": {}})})
    inner = failed(1, f".attestors[0].entries[0].attestor.entries[0].certificates: {NOT_FOUND}")
    assert judge(nested) == failed(1, inner[1])


@from_table("body", "fault")
def test_a_nested_set_that_is_none(body: Any, fault: str) -> None:
    status, message = judge(attestors({"attestor": body}))
    assert status == "error"
    assert message.startswith(
        f"{ERROR}failed to unmarshal nested attestor .attestors[0].entries[0]"
    )
    assert message.endswith(fault)


def test_annotations_that_must_be_there() -> None:
    wanted = attestors({"annotations": {"a": "1"}})
    mismatch = "annotations mismatch: {} does not match expected value 1 for key a".format
    assert judge(wanted) == ("error", ERROR + mismatch(""))
    assert judge(wanted, annotations={"a": "2"}) == ("error", ERROR + mismatch("2"))
    assert judge(wanted, annotations={"a": "1"})[0] == "fail"


def test_roots_that_are_no_certificates() -> None:
    keyless = attestors({"keyless": {"roots": "x"}})
    assert judge(keyless) == (
        "error",
        f"{ERROR}.attestors[0].entries[0].keyless: failed to load Root certificates: error "
        "creating root cert pool",
    )
    pem = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----"
    assert judge(attestors({"keyless": {"roots": pem}}))[0] == "fail"


def test_what_is_no_manifest_is_none() -> None:
    status, message = judge(attestors({}), annotations={MESSAGE: "YQ=="})
    assert status == "fail"
    assert message.endswith("failed to find a YAML manifest in the gzipped message")
    assert judge(attestors({}), annotations={MESSAGE: "YQ=="}, annotationDomain="d")[0] == "fail"
    status, message = judge(attestors({}), annotations={MESSAGE: "?"})
    assert status == "error"
    assert message.endswith("illegal base64 data at input byte 0")


@from_table("given")
def test_a_registry_is_not_asked(given: Any) -> None:
    status, message = judge(attestors({}), **given)
    assert status == "error"
    assert message.endswith(
        "r.example/x is not asked: manifests in registries are not looked at, only those in "
        "annotations"
    )


def test_manifests_nothing_is_said_of_a_deletion() -> None:
    parts: Body = {"manifests": {"attestors": [{}]}}
    compiled = compile_policy(policy_resource(rule(validate=parts), background=False))
    assert evaluate([compiled], request(obj(), operation=Operation.DELETE)) == []


@pytest.mark.parametrize(
    "attestor", [{"key": "x"}, {"keys": {"secret": {"name": "a"}}}, {"annotations": {"a": 1}}]
)
def test_the_schema_of_attestors(attestor: Body) -> None:
    parts: Body = {"manifests": {"attestors": [attestors(attestor)]}}
    with pytest.raises(CompileError):
        compile_policy(policy_resource(rule(validate=parts)))
    parts = {"manifests": {"attestors": [attestors({}, count=0)]}}
    with pytest.raises(CompileError, match="greater than or equal to 1"):
        compile_policy(policy_resource(rule(validate=parts)))


def test_assert_has_no_effect() -> None:
    parts = {"assert": {"metadata": {"name": "never"}}}
    with pytest.raises(
        CompileError, match="one of pattern, anyPattern, deny, foreach, cel must"
    ) as error:
        compile_policy(policy_resource(rule(validate=parts)))
    assert error.value.diagnostics[0].hint == "validate.assert has no effect since Kyverno 1.19"
    beside = {**parts, "pattern": {"metadata": {"name": "a"}}}
    compiled = compile_policy(policy_resource(rule(validate=beside)))
    (result,) = evaluate([compiled], request(obj()))
    assert result.status == "pass"


def test_a_dry_run_needs_no_signature() -> None:
    parts: Body = {"manifests": {"attestors": [{}]}}
    compiled = compile_policy(policy_resource(rule(validate=parts), background=False))
    asked = replace(request(obj()), review={"operation": "CREATE", "dryRun": True})
    (result,) = evaluate([compiled], asked)
    assert (result.status, result.message) == ("pass", "allowed because of DryRun request")
