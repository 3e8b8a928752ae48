"""CEL policies about Pods as policies about what makes Pods, workloads of custom kinds too."""

from typing import Any

import pytest

from chartkit.engine.cel_policies.autogen import extended, mutation_rewritten, rewriter
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.kubernetes.kinds import CRON_TEMPLATE, TEMPLATE
from chartkit.engine.ports.world import World
from chartkit.engine.request import Operation
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import (
    PODS,
    about,
    conditions,
    exception,
    policy,
    results,
    said,
    validating,
)


def controllers(**spec: Any) -> list[str]:
    """The resources that a policy is extended to, CronJobs first."""
    spec.setdefault("validations", [{"expression": "true"}])
    forms = extended(read_cel_policy(policy(**spec)))
    rules = [one.spec["matchConstraints"]["resourceRules"] for one in forms]
    return [name for form in rules for rule in form for name in rule["resources"]]


ALL = ["cronjobs", "daemonsets", "deployments", "replicasets", "statefulsets", "jobs"]


@from_table("asked", "found")
def test_autogen_controllers(asked: Body, found: list[str]) -> None:
    assert controllers(autogen=asked) == found


@pytest.mark.parametrize(
    "constraints",
    [
        {"resourceRules": [about("pods", "deployments", apiGroups=[""])]},
        {"resourceRules": [about("pods", apiGroups=[""]), about("pods", apiGroups=[""])]},
        {"resourceRules": [about("pods", apiGroups=["*"])]},
        {"resourceRules": [about("pods", apiGroups=[""], apiVersions=["*"])]},
        {"resourceRules": [about("pods", apiGroups=[""], resourceNames=["x"])]},
        {**PODS, "excludeResourceRules": [about()]},
        {**PODS, "objectSelector": {"matchLabels": {"a": "b"}}},
    ],
)
def test_only_policies_about_all_pods(constraints: Body) -> None:
    assert controllers(matchConstraints=constraints) == []


def test_an_empty_selector_and_namespaces_are_kept() -> None:
    selector = {"matchLabels": {"a": "b"}}
    constraints = {**PODS, "objectSelector": {}, "namespaceSelector": selector}
    form = extended(read_cel_policy(policy(matchConstraints=constraints, validations=[])))[0]
    assert form.spec["matchConstraints"]["namespaceSelector"] == selector


@from_table("text", "expected")
def test_autogen_texts(text: str, expected: str) -> None:
    assert rewriter(TEMPLATE)(text) == expected


@from_table("text", "expected")
def test_autogen_mutations(text: str, expected: str) -> None:
    assert mutation_rewritten(text, TEMPLATE) == expected


def test_mutations_of_cron_jobs() -> None:
    assert mutation_rewritten("Object{a: 1}", CRON_TEMPLATE) == (
        "Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{"
        "spec: Object.spec.jobTemplate.spec{template: Object.spec.jobTemplate.spec.template{"
        "a: 1}}}}}"
    )


CONTROLLERS = ["jobsets.v1alpha2.jobset.x-k8s.io", "trainings", "a..b"]
AUTOGEN: Body = {"podControllers": {"controllers": CONTROLLERS}}
FIRST, SECOND = (f"spec.replicatedJobs[{index}].template.spec.template" for index in (0, 1))


def template(image: Any = "nginx:1", **metadata: Any) -> Body:
    body: Body = {"spec": {"containers": [{"name": "c", "image": image}]}}
    return {**body, "metadata": metadata} if metadata else body


def jobs(*templates: Body) -> Resource:
    found = [{"template": {"spec": {"template": one}}} for one in templates]
    return workload({"replicatedJobs": found})


def workload(spec: Body, kind: str = "JobSet") -> Resource:
    metadata = {"name": "train", "namespace": "default"}
    version = "jobset.x-k8s.io/v1alpha2"
    return Resource({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def templates_about(*expressions: str, **spec: Any) -> Resource:
    return validating(*expressions, autogen=AUTOGEN, **spec)


@pytest.mark.parametrize(
    ("expression", "found", "expected"),
    [
        ("object.kind == 'Pod'", jobs(template()), ("pass", "success")),
        ("object.metadata.name == 'train'", jobs(template(labels={})), ("pass", "success")),
        ("object.metadata.name == 'own'", jobs(template(name="own")), ("pass", "success")),
        ("request.kind.kind == 'Pod'", workload({"a": template()}), ("pass", "success")),
        ("oldObject == null", workload(template()), ("pass", "success")),
        (
            "object.spec.containers[0].image == 'nginx:1'",
            jobs(template(), template("nginx:2")),
            ("fail", f"CEL expression validation failed at index 0 (pod template at {SECOND})"),
        ),
        (
            "object.metadata.labels.a == 'b'",
            jobs(template()),
            ("error", f"error: no such key: labels (pod template at {FIRST})"),
        ),
        (
            "true",
            jobs(template(image=1)),
            (
                "error",
                "error: extraction mode: no pod template found in jobset.x-k8s.io/v1alpha2/JobSet",
            ),
        ),
    ],
)
def test_templates_are_judged_as_pods(
    expression: str, found: Resource, expected: tuple[str, str]
) -> None:
    assert said(templates_about(expression), found) == expected


def test_kinds_that_the_policy_does_not_name() -> None:
    assert results(templates_about("false"), workload({"a": template()}, "Training")) == []


def test_templates_of_an_object_that_was_there() -> None:
    asked = templates_about("oldObject != null && oldObject.spec == object.spec")
    update = {"operation": Operation.UPDATE, "old": jobs(template())}
    assert said(asked, jobs(template()), **update) == ("pass", "success")
    asked = templates_about("object == null && oldObject.kind == 'Pod'")
    assert said(asked, jobs(template()), operation=Operation.DELETE) == ("pass", "success")


def test_templates_with_fields_and_conditions() -> None:
    asked = templates_about("object.spec.containers.all(c, c.image != 'bad')")
    (result,) = results(asked, jobs(template("bad")), world=World(wants_fields=True))
    place = "/spec/replicatedJobs/0/template/spec/template/spec/containers/0/image"
    assert result.fields[0] == place
    unmet = templates_about("false", matchConditions=conditions("object.metadata.name == 'own'"))
    assert said(unmet, jobs(template())) == ("skip", "skip")
    assert said(unmet, jobs(template(), template(name="own")))[0] == "fail"
    broken = templates_about("true", matchConditions=conditions("object.nope == 1"))
    message = f"failed to load context: pod template at {FIRST}: no such key: nope"
    assert said(broken, jobs(template())) == ("error", message)


_FAILED = "CEL expression validation failed at index 0 (pod template at"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("true", ("skip", "rule is skipped due to policy exception: default/e, default/e")),
        ("object.metadata.name == 'own'", ("fail", f"{_FAILED} {FIRST})")),
        ("object.metadata.name != 'own'", ("fail", f"{_FAILED} {SECOND})")),
    ],
)
def test_exceptions_are_asked_about_each_template(
    condition: str, expected: tuple[str, str]
) -> None:
    given = exception(matchConditions=conditions(condition))
    found = jobs(template(), template(name="own"))
    assert said(templates_about("false"), found, exceptions=[given]) == expected


def test_mutations_of_custom_workloads_are_skipped() -> None:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    found = policy("MutatingPolicy", mutations=[mutation], autogen=AUTOGEN)
    message = "extraction mode: mutation for custom workload CRDs is not yet supported"
    assert said(found, jobs(template())) == ("skip", message)


def test_images_of_templates() -> None:
    loose = {"mutateDigest": False, "verifyDigest": True, "required": False}
    attestor: Body = {"name": "n", "notary": {"certs": {"value": "x"}}}
    found = policy(
        "ImageValidatingPolicy",
        attestors=[attestor],
        matchImageReferences=[{"glob": "**"}],
        validations=[{"expression": "true"}],
        validationConfigurations=loose,
        autogen=AUTOGEN,
    )
    message = f"image nginx:1 does not have a digest (pod template at {FIRST})"
    assert said(found, jobs(template())) == ("fail", message)
