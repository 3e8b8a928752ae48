"""Policies and objects of the tests."""

from collections.abc import Sequence
from typing import Any

from chartkit.addons.serve.estimate import EstimateInput, estimate
from chartkit.addons.serve.estimate.measurements import Estimate
from chartkit.documents.reader import read_text, resources
from chartkit.engine import Configuration, read_configuration
from chartkit.engine.kubernetes.kinds import UNKNOWN
from chartkit.model import Body, Resource
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.policies import compile_all
from chartkit.scan.run import ScanContext, namespace_labels, namespaces_among

EVERYTHING = "[Pod, ReplicaSet, Deployment, Job, CronJob, ConfigMap, StatefulSet, DaemonSet]"


NO_CONFIGURATION = Configuration()
NO_PODS = read_configuration({"resourceFilters": "[Pod,*,*]"})


def objects(text: str) -> list[Resource]:
    """The objects of YAML documents."""
    return resources(read_text(text, "objects.yaml"))


def legacy(name: str = "p", kinds: str = EVERYTHING, spec: str = "", match: str = "") -> str:
    """A ClusterPolicy that validates; spec, match: further fields of either."""
    return f"""\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: {name}, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}
spec:
  validationFailureAction: Audit
  {spec}
  rules:
    - name: r
      match: {{any: [{{resources: {{kinds: {kinds}{match}}}}}]}}
      validate: {{message: a name, pattern: {{metadata: {{=(labels): {{=(a): "?*"}}}}}}}}
---
"""


def workload(kind: str, replicas: int | None = None, name: str = "web", spec: str = "") -> str:
    """A workload in the namespace `shop`."""
    number = "" if replicas is None else f"replicas: {replicas},"
    template = (
        "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}"
    )
    group = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    own = f"{number} selector: {{matchLabels: {{app: web}}}}, {template}"
    if kind == "Job":
        own = template
    if kind == "CronJob":
        own = f'schedule: "0 * * * *", jobTemplate: {{spec: {{{template}}}}}'
    return f"""\
apiVersion: {group}
kind: {kind}
metadata: {{name: {name}, namespace: shop}}
spec: {{{own}{", " + spec if spec else ""}}}
---
"""


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: a, image: a}]}
---
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n---\n"


def flags(component: str, *arguments: str, memory: str = "128Mi", replicas: int = 1) -> Body:
    """A Deployment of one of Kyverno's controllers."""
    container: dict[str, Any] = {
        "name": "controller",
        "args": list(arguments),
        "resources": {"limits": {"memory": memory}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"kyverno-{component}",
            "namespace": "kyverno",
            "labels": {"app.kubernetes.io/component": component},
        },
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


def engine(*arguments: str, memory: str = "128Mi", replicas: int = 1) -> list[Resource]:
    """Kyverno's controllers with flags."""
    return [
        Resource(flags("admission-controller", *arguments, replicas=replicas)),
        Resource(flags("reports-controller", *arguments, memory=memory)),
    ]


def estimated(
    policies: str,
    text: str,
    settings: Sequence[Resource] | None = None,
    configuration: Configuration = NO_CONFIGURATION,
    live: bool = False,
    nodes: int | None = None,
) -> Estimate:
    """The estimate for policies and objects; settings: of an environment's Kyverno."""
    found = objects(text)
    own = objects(policies)
    environment = None
    if settings is not None:
        environment = ProjectEnvironment("prd", own, configuration, "1.34", engine=settings)
    namespaces = namespaces_among(found)
    context = ScanContext(namespace_labels(namespaces), namespaces)
    given = EstimateInput(compile_all(own), found, context, UNKNOWN, live, environment, nodes)
    return estimate(given)
