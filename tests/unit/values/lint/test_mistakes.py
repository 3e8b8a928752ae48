"""The mistakes that people make in values of the engine's chart: each rule has examples of what it
reports and of what it leaves alone."""

import copy
import json
from collections.abc import Iterator
from functools import cache

import pytest

from chartkit.charts.engine import chart as engine_chart
from chartkit.documents.reader import Document, Source, empty_document, read_text
from chartkit.model import Body, Json
from chartkit.values.lint import ChartValues, Stage, lint
from chartkit.values.lint.rules import RULES


@cache
def chart() -> tuple[Document, Body]:
    plan = engine_chart.plan({}, ">=1.33-0 <1.36-0")
    (defaults,) = read_text(plan.values["values.yaml"], "values.yaml")
    schema: Body = json.loads(plan.files["values.schema.json"])
    return defaults, schema


def findings(text: str) -> list[str]:
    documents = read_text(text, "mine.yaml")
    overlay = documents[0] if documents else empty_document(Source("mine.yaml", text))
    defaults, schema = chart()
    return [str(each) for each in lint(ChartValues(defaults, (overlay,), schema, {}), Stage.VALUES)]


REPORTED = {
    "CK006": [
        "config:\n  resourceFiltersExcludeNamespaces: [kube-system]\n",
        "config:\n  resourceFiltersExcludeNamespaces:\n    - shop\n",
    ],
    "CK007": [
        "policyExceptions:\n  enabled: true\n",
        "admissionController:\n  policyExceptions: {enabled: true}\n",
        "features:\n  logging:\n    dumpPayload: {enabled: true}\n",
    ],
    "CK008": [
        "config:\n  webhooks:\n    - objectSelector: {matchLabels: {a: b}}\n",
        "config:\n  webhooks:\n    - namespaceSelector: {matchLabels: {a: b}}\n",
    ],
    "CK009": [
        "admissionController:\n  autoscaling: {enabled: true}\n",
        "admissionController:\n  replicas: 3\n  autoscaling: {enabled: true, minReplicas: 2}\n",
    ],
    "CK011": ["cleanupController:\n  metricsService: {type: NodePort}\n"],
    "CK012": [
        "reportsController:\n  metricsService: {type: LoadBalancer}\n",
        "reportsController:\n  metricsService:\n    type: LoadBalancer\n    annotations:\n"
        "      service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing\n",
    ],
    "CK013": [
        "config:\n  webhooks:\n    namespaceSelector: {matchExpressions: []}\n",
        "config:\n  webhooks:\n    namespaceSelector:\n      matchExpressions:\n"
        "        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [shop]}\n",
        "config:\n  webhooks:\n    namespaceSelector:\n      matchExpressions:\n"
        "        - {key: kubernetes.io/metadata.name, operator: In, values: [kube-system]}\n",
    ],
    "CK014": ["webhooksCleanup:\n  enabled: false\n"],
    "CK015": [
        "replicaCount: 3\n",
        "image: {repository: mirror.example/kyverno, tag: v1.9.2}\n",
        "webhooksCleanup:\n  enable: true\n",
        "cleanupJobs:\n  admissionReports: {enabled: false}\n",
    ],
}
LEFT_ALONE = {
    "CK006": ["config:\n  resourceFiltersIncludeNamespaces: [shop]\n"],
    "CK007": [
        "features:\n  policyExceptions: {enabled: true, namespace: x}\n",
        "admissionController:\n  featuresOverride: {admissionReports: {enabled: false}}\n",
    ],
    "CK008": [
        "config:\n  webhooks:\n    namespaceSelector:\n      matchExpressions:\n"
        "        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}\n"
    ],
    "CK009": [
        "admissionController:\n  autoscaling: {enabled: true, minReplicas: 3}\n",
        "admissionController:\n  autoscaling: {enabled: false, minReplicas: 1}\n",
    ],
    "CK011": [
        "cleanupController:\n  networkPolicy: {enabled: true}\n  metricsService: {type: NodePort}",
        "cleanupController:\n  metricsService: {type: ClusterIP}\n",
    ],
    "CK012": [
        "reportsController:\n  metricsService:\n    type: LoadBalancer\n    annotations:\n"
        "      service.beta.kubernetes.io/aws-load-balancer-scheme: internal\n"
    ],
    "CK013": [
        "config:\n  webhooks:\n    namespaceSelector: {matchExpressions: []}\n"
        "features:\n  forceFailurePolicyIgnore: {enabled: true}\n",
        "config:\n  webhooks:\n    namespaceSelector:\n      matchLabels: {guarded: 'yes'}\n",
    ],
    "CK014": ["webhooksCleanup:\n  enabled: true\n"],
    "CK015": [
        "admissionController:\n  replicas: 3\n",
        "cleanupController:\n  image: {tag: v1.19.0}\n",
    ],
}


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in REPORTED.items() for text in texts]
)
def test_mistakes_reported(rule: str, text: str) -> None:
    found = findings(text)
    assert found
    assert all(f" {rule}: " in each for each in found), found
    assert all(each.startswith("mine.yaml:") and " (" in each for each in found), found


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in LEFT_ALONE.items() for text in texts]
)
def test_left_alone(rule: str, text: str) -> None:
    assert not [each for each in findings(text) if f" {rule}: " in each]


def test_defaults_have_none_of_them() -> None:
    assert findings("") == []


def _with_one_odd(value: Json, odd: Json) -> Iterator[Json]:
    yield odd
    if not isinstance(value, dict | list):
        return
    for key, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
        for changed in _with_one_odd(member, odd):
            made = copy.deepcopy(value)
            made[key] = changed
            yield made


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(REPORTED))
def test_values_of_any_type_are_findings_and_no_bug(rule: str) -> None:
    defaults, schema = chart()
    for text in REPORTED[rule][:3]:
        (document,) = read_text(text, "mine.yaml")
        for odd in (1.5, [[1]]):
            for body in _with_one_odd(document.body, odd):
                if isinstance(body, dict):
                    overlay = read_text(json.dumps(body), "mine.yaml")[0]
                    list(lint(ChartValues(defaults, (overlay,), schema, {}), Stage.VALUES))
                    for each in RULES:
                        each.moves(body, defaults.body)
