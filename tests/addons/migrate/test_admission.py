"""Policies that become Kubernetes' own, with bindings, where they need nothing of Kyverno."""

from dataclasses import replace

import pytest
import yaml

from chartkit.addons.migrate.admission import Target
from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.differences import EVERYWHERE
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Location, Resource
from tests.addons.migrate.conversions import deny, policy

_BOTH = Target(frozenset((CelKind.VALIDATING_ADMISSION, CelKind.MUTATING_ADMISSION)))
_PATTERN = "validate: {message: m, pattern: {spec: {=(hostNetwork): false}}}"
_LABEL = "mutate: {patchStrategicMerge: {metadata: {labels: {+(team): shared}}}}"


def _converted(body: Body, target: Target = _BOTH, *others: Resource) -> Conversion:
    legacy = Resource(body, Location("policy.yaml"))
    return Batch([legacy, *others], target).convert(legacy)


def _named(conversion: Conversion) -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"]["name"]) for each in conversion.documents]


def test_a_policy_about_pods_has_one_more_for_each_place_of_templates() -> None:
    body = policy(_PATTERN, "Pod")
    body["spec"] |= {"validationFailureAction": "Enforce", "failurePolicy": "Ignore"}
    conversion = _converted(body)
    kind = "ValidatingAdmissionPolicy"
    assert _named(conversion) == [
        (each, f"example{suffix}")
        for suffix in ("", "-autogen-cronjob", "-autogen")
        for each in (kind, f"{kind}Binding")
    ]
    first, binding, cron, *_ = conversion.documents
    assert first["apiVersion"] == "admissionregistration.k8s.io/v1"
    assert first["spec"]["failurePolicy"] == "Ignore"
    assert "autogen" not in str(first["spec"])
    assert binding["spec"] == {"policyName": "example", "validationActions": ["Deny"]}
    assert "object.spec.jobTemplate.spec.template.spec.?hostNetwork" in str(cron["spec"])
    (outcome,) = conversion.outcomes
    assert EVERYWHERE in outcome.changes
    assert not any("Binding" in each for each in outcome.replaced_by)


@pytest.mark.parametrize(
    ("rule", "kind"), [(_PATTERN, "Pod"), (_LABEL, "ConfigMap"), (_LABEL, "Deployment")]
)
def test_policies_of_kubernetes_do_the_same(rule: str, kind: str) -> None:
    body = policy(rule, kind)
    body["spec"]["validationFailureAction"] = "Enforce"
    conversion = _converted(body)
    new = [Resource(each) for each in conversion.documents]
    assert all(each.kind.removesuffix("Binding").endswith("AdmissionPolicy") for each in new)
    options = replace(proof_options(conversion, 30), most_requests=400)
    proof = prove(Resource(body), new, options=options)
    assert proof.equal, proof.differences


def test_the_version_of_mutating_admission_policies_is_the_clusters() -> None:
    body = policy(_LABEL)
    for version, served in ((None, "v1beta1"), (Version(1, 34), "v1beta1"), (Version(1, 36), "v1")):
        target = Target(frozenset((CelKind.MUTATING_ADMISSION,)), version)
        first, binding = _converted(body, target).documents
        assert first["apiVersion"] == f"admissionregistration.k8s.io/{served}"
        assert first["spec"]["reinvocationPolicy"] == "Never"
        assert binding["spec"] == {"policyName": "example"}


def test_a_policy_of_a_namespace_is_bound_there() -> None:
    body = policy("validate: {message: m, pattern: {data: {a: b}}}")
    body["kind"] = "Policy"
    body["metadata"]["namespace"] = "shop"
    first, binding = _converted(body).documents
    assert first["metadata"] == binding["metadata"] == {"name": "example"}
    assert binding["spec"]["matchResources"] == {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
    }


def _exception() -> Resource:
    text = """
    apiVersion: kyverno.io/v2
    kind: PolicyException
    metadata: {name: e, namespace: default}
    spec:
      exceptions: [{policyName: example, ruleNames: [rule]}]
      match: {any: [{resources: {kinds: [ConfigMap], names: [a]}}]}
    """
    return Resource(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("rule", "settings", "others", "reason"),
    [
        (
            "context: [{name: c, configMap: {name: a, namespace: b}}]\n"
            + deny("{{ c.data.x }}", "Equals", "y"),
            {},
            (),
            "does not know resource.Get",
        ),
        (deny("{{ request.object.data.a }}", "Equals", "b"), {}, (_exception(),), "exceptions"),
        (
            deny("{{ request.object.data.a }}", "Equals", "b"),
            {"admission": False, "background": True},
            (),
            "nothing but admission",
        ),
    ],
)
def test_what_needs_kyverno_stays_with_it(
    rule: str, settings: Body, others: tuple[Resource, ...], reason: str
) -> None:
    body = policy(rule)
    body["spec"] |= settings
    conversion = _converted(body, _BOTH, *others)
    assert [each["kind"] for each in conversion.documents] == ["ValidatingPolicy"]
    (outcome,) = conversion.outcomes
    (said,) = (each for each in outcome.changes if "and not of Kubernetes" in each)
    assert reason in said


def test_kinds_that_are_not_asked_for_stay_kyvernos() -> None:
    target = Target(frozenset((CelKind.MUTATING_ADMISSION,)))
    body = policy("validate: {message: m, pattern: {data: {a: b}}}")
    assert [each["kind"] for each in _converted(body, target).documents] == ["ValidatingPolicy"]
