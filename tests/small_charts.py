"""A project with small charts: a definition, a controller, a clean-up job, two policies."""

from collections.abc import Sequence
from pathlib import Path

from chartkit.documents.yaml_dump import dump_documents, dump_yaml
from chartkit.model import Body
from tests.objects import api_object

POLICY_NAMES = ("first", "second")
_LABELS = {"app.kubernetes.io/part-of": "kyverno"}


def write_project(
    folder: Path,
    version: str = "3.9.0",
    kyverno: str = "1.19",
    extra: Sequence[Body] = (),
    policies: Sequence[Body] = (),
) -> Path:
    """Writes a project with the environments prd and old; version: of both charts; extra, policies:
    objects of theirs besides."""
    environments = {
        "prd": {"kyverno": kyverno, "kubernetes": "1.34"},
        "bare": {"kyverno": kyverno, "kubernetes": "1.34", "engine": False},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chartkit.yaml").write_text(dump_yaml({"environments": environments}))
    app = f"v{kyverno}.0"
    engine = [_crd(), _deployment(), _job()]
    _chart(folder, "kyverno", version, app, [*engine, *extra])
    own = [_policy(each) for each in POLICY_NAMES]
    _chart(folder, "kyverno-policies", version, app, [*own, *policies])
    return folder


def _chart(folder: Path, name: str, version: str, app: str, objects: list[Body]) -> None:
    chart = folder / "charts" / name
    (chart / "templates").mkdir(parents=True, exist_ok=True)
    metadata = {"apiVersion": "v2", "name": name, "version": version, "appVersion": app}
    (chart / "Chart.yaml").write_text(dump_yaml(metadata))
    (chart / "templates" / "all.yaml").write_text(
        dump_documents(objects).replace("ACTION", "{{ .Values.action }}")
    )
    for values in ("values.yaml", "values_prd.yaml", "values_bare.yaml"):
        (chart / values).write_text("action: Audit\n")


def _crd() -> Body:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterpolicies.kyverno.io"},
        "spec": {
            "group": "kyverno.io",
            "scope": "Cluster",
            "names": {"kind": "ClusterPolicy", "plural": "clusterpolicies"},
            "versions": [version],
        },
    }


def _deployment() -> Body:
    containers = [{"name": "kyverno", "image": "reg.example/kyverno:v1.19.0"}]
    template = {"metadata": {"labels": _LABELS}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kyverno-admission-controller", "namespace": "kyverno"},
        "spec": {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": template},
    }


def _job() -> Body:
    hook = {"helm.sh/hook": "pre-delete", "helm.sh/hook-delete-policy": "before-hook-creation"}
    containers = [{"name": "clean", "image": "reg.example/clean:v1"}]
    template = {"spec": {"containers": containers, "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "kyverno-rm-webhooks", "namespace": "kyverno", "annotations": hook},
        "spec": {"template": template},
    }


def _policy(name: str) -> Body:
    rule = {
        "name": "named",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"failureAction": "ACTION", "message": "m", "pattern": {"kind": "?*"}},
    }
    return api_object("kyverno.io/v1", "ClusterPolicy", {"name": name}, spec={"rules": [rule]})
