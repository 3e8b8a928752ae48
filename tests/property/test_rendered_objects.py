"""Objects that charts of strangers render, with a value of any type anywhere: checks and `diff` say
what they can of them."""

# ruff: noqa: E501 - objects in as few lines as they take

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from chartkit.charts.engine import high_availability
from chartkit.kyverno.controllers import ADMISSION, controllers
from chartkit.kyverno.known_faults import running_release
from chartkit.model import Body, Json, Location, Resource
from chartkit.render.checks import permissions
from chartkit.render.compare.report import comparison, report
from chartkit.render.environment import Side
from chartkit.scan.environment import config_names
from chartkit.values.lint import Stage, lint
from tests.command_reports import OWN, in_format
from tests.unit.values.lint.test_lint import subject

WRONG: tuple[Json, ...] = (
    *(None, "x", "", 1, 1.5, True),
    *([], ["x"], [None], [[1]], [{"a": 1}]),
    *({}, {"a": "b"}, {"a": None}),
)
OBJECTS: dict[str, Body] = {
    each["kind"]: each
    for each in yaml.safe_load_all("""
apiVersion: apps/v1
kind: Deployment
metadata:
  name: kyverno-admission-controller
  namespace: kyverno
  labels: {app.kubernetes.io/component: admission-controller, app.kubernetes.io/part-of: kyverno}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxUnavailable: 1}}
  selector: {matchLabels: {app.kubernetes.io/component: admission-controller}}
  template:
    metadata: {labels: {app.kubernetes.io/component: admission-controller}}
    spec:
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 1, podAffinityTerm: {topologyKey: a, labelSelector: {matchLabels: {a: b}}}}
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, labelSelector: {matchLabels: {a: b}}}]
      containers:
      - {name: c, image: "ghcr.io/kyverno/kyverno:v1.19.0", args: [--a=b], env: [{name: INIT_CONFIG, value: k}],
         resources: {limits: {memory: 1Gi}}, securityContext: {runAsNonRoot: true, capabilities: {drop: [ALL]}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: kyverno}
spec: {scaleTargetRef: {kind: Deployment, name: kyverno-admission-controller}, minReplicas: 2, maxReplicas: 3}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: p, namespace: kyverno}
spec: {minAvailable: 1, selector: {matchLabels: {app.kubernetes.io/component: admission-controller}}}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: kyverno}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30000, protocol: TCP}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r, labels: {app.kubernetes.io/component: admission-controller}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: [a]}, {nonResourceURLs: [/a], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{kind: ServiceAccount, name: a, namespace: kyverno}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
webhooks: [{name: a.b.c, failurePolicy: Ignore, rules: [{operations: [CREATE], apiGroups: [""], resources: [pods]}],
  clientConfig: {service: {name: s, namespace: kyverno}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.b.c}
spec: {group: b.c, names: {kind: A, plural: as}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: k, namespace: kyverno}
data: {resourceFilters: "[Event,*,*]", webhooks: "{}"}
---
apiVersion: v1
kind: Secret
metadata: {name: t, namespace: kyverno}
data: {a: YQ==}
stringData: {b: c}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p, annotations: {a: b}}
spec:
  validationFailureAction: Enforce
  validationFailureActionOverrides: [{action: Audit, namespaces: [a]}]
  webhookConfiguration: {failurePolicy: Fail, matchConditions: [{name: a, expression: "true"}]}
  rules:
  - {name: v, match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {namespaces: [a]}}]},
     validate: {failureAction: Enforce, message: m, pattern: {a: b}}}
  - {name: g, match: {any: [{resources: {kinds: [Namespace]}}]},
     generate: {kind: Role, name: a, synchronize: true, orphanDownstreamOnPolicyDelete: true, foreach: [{kind: A}], cloneList: {kinds: [v1/A]}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  validationActions: [Deny]
  failurePolicy: Fail
  autogen: {podControllers: {controllers: [deployments]}}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "true", message: m}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: v}
spec: {policyName: v, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {a: b}}}}
""")
}


def _changed(body: Body) -> Iterator[Body]:
    """An object with each of its values, but apiVersion and kind, set to wrong ones."""
    changed = copy.deepcopy(body)
    for at, (holder, key) in enumerate(list(_places(changed))):
        if holder is changed and key in ("apiVersion", "kind"):
            continue
        before = holder[key]
        for wrong in WRONG[at % 3 :: 3]:
            holder[key] = wrong
            yield changed
        holder[key] = before


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _resource(body: Body) -> Resource:
    return Resource(body, Location("a.yaml", 1))


@pytest.mark.parametrize("kind", OBJECTS)
def test_checks_of_rendered_objects(kind: str) -> None:
    others = [_resource(body) for name, body in OBJECTS.items() if name != kind]
    near = [each for each in others if each.kind in ("Deployment", "HorizontalPodAutoscaler")]
    for changed in _changed(OBJECTS[kind]):
        rendered = [_resource(changed), *near]
        for finding in lint(subject("", rendered), Stage.RENDERED):
            assert str(finding)
        assert len(controllers(rendered)) <= 1
        for judged in high_availability.judge(rendered, True):
            assert str(judged)
        running_release(rendered, ADMISSION)
        assert list(permissions._allowed(rendered)) is not None
        for controller in controllers(rendered):
            assert all(isinstance(each, str) for each in config_names(controller))


@pytest.mark.parametrize("kind", OBJECTS)
def test_comparison_of_rendered_objects(kind: str) -> None:
    before = (_resource(OBJECTS[kind]),)
    for changed in _changed(OBJECTS[kind]):
        after = (_resource(changed),)
        for one, other in ((before, after), (after, before), (after, ()), ((), after)):
            found = [comparison(Side("a", one), Side("b", other))]
            assert all(in_format(report(found), name) for name in OWN)
