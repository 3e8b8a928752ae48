"""A platform team's repository: 12 ClusterPolicies, 3 exceptions, a cleanup policy, 200 objects."""

from pathlib import Path

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body
from tests.objects import api_object

_REGISTRY = "registry.example.com"
_ARGO: Body = {
    "annotations": {"argocd.argoproj.io/tracking-id": "platform:kyverno.io/ClusterPolicy:/NAME"}
}
_FLUX: Body = {
    "labels": {
        "kustomize.toolkit.fluxcd.io/name": "guardrails",
        "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    }
}


def _policy(
    name: str, rule: Body, kinds: list[str], action: str = "", marks: Body | None = None
) -> Body:
    match = {"any": [{"resources": {"kinds": kinds}}]}
    spec: Body = {"rules": [{"name": name, "match": match, **rule}]}
    if action:
        spec["validationFailureAction"] = action
    metadata = {"name": name, **(marks or {})}
    return api_object("kyverno.io/v1", "ClusterPolicy", metadata, spec=spec)


def _patch(patch: Body) -> Body:
    return {"mutate": {"patchStrategicMerge": patch}}


def _label(label: str) -> Body:
    pattern = {"metadata": {"labels": {label: "?*"}}}
    return {"validate": {"message": f"the label {label} is missing", "pattern": pattern}}


def _container(field: str, value: object) -> Body:
    pattern = {"spec": {"containers": [{field: value}]}}
    return {"validate": {"message": f"{field} must be {value}", "pattern": pattern}}


def policies() -> list[Body]:
    """Return the ClusterPolicies: nine validate (four enforce), two change, one generates."""
    defaults: Body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "defaults",
        "namespace": "{{request.object.metadata.name}}",
        "synchronize": True,
        "data": {"data": {"tier": "standard"}},
    }
    name = "{{ random(request.object.metadata.name) }}"
    random = {"key": name, "operator": "Equals", "value": "a"}
    odd = {"validate": {"message": "no", "deny": {"conditions": {"any": [random]}}}}
    unprivileged = _container("=(securityContext)", {"=(privileged)": False})
    read_only = _container("securityContext", {"readOnlyRootFilesystem": True})
    probes = _container("livenessProbe", {"periodSeconds": ">0"})
    tier = {"metadata": {"labels": {"+(tier)": "none"}}}
    pods = ["Pod"]
    return [
        _policy("require-team", _label("team"), ["Pod", "Service"], "Enforce", _ARGO),
        _policy("pinned-tags", _container("image", "!*:latest"), pods, "Enforce", _ARGO),
        _policy("no-privilege", unprivileged, pods, "Enforce", _ARGO),
        _policy("named-ports", _label("ports"), ["Service"], "Enforce", _ARGO),
        _policy(
            "own-registry", _container("image", "registry.example.com/*"), pods, "Audit", _FLUX
        ),
        _policy("read-only-root", read_only, pods, "Audit", _FLUX),
        _policy("probes", probes, pods, "Audit", _FLUX),
        _policy("cost-centre", _label("cost-centre"), ["Namespace"], "Audit", _FLUX),
        _policy("odd-nodes", odd, pods, "Audit"),
        _policy("default-team", _patch(tier), ["ConfigMap"]),
        _policy("default-priority", _patch({"spec": {"+(priorityClassName)": "standard"}}), pods),
        _policy("namespace-defaults", {"generate": defaults}, ["Namespace"]),
    ]


def exceptions() -> list[Body]:
    """Return three PolicyExceptions."""
    return [
        {
            "apiVersion": "kyverno.io/v2",
            "kind": "PolicyException",
            "metadata": {"name": name, "namespace": "kyverno"},
            "spec": {
                "match": {"any": [{"resources": {"kinds": ["Pod"], "names": [pods]}}]},
                "exceptions": [{"policyName": policy, "ruleNames": [policy, f"autogen-{policy}"]}],
            },
        }
        for name, policy, pods in (
            ("legacy-web", "pinned-tags", "web-0*"),
            ("node-agents", "no-privilege", "agent-*"),
            ("batch", "read-only-root", "job-*"),
        )
    ]


CLEANUP: Body = api_object(
    "kyverno.io/v2",
    "ClusterCleanupPolicy",
    "finished-jobs",
    spec={"match": {"any": [{"resources": {"kinds": ["Job"]}}]}, "schedule": "0 3 * * *"},
)


def objects() -> list[Body]:
    """Return 200 objects: 10 Namespaces, 120 Pods, 40 Services, 30 ConfigMaps."""
    found: list[Body] = [_object("Namespace", f"team-{at}") for at in range(10)]
    for at in range(120):
        pod = _object("Pod", f"web-{at:03}", f"team-{at % 10}")
        image = "nginx:latest" if at < 12 else f"{_REGISTRY}/web:{at}"
        found.append({**pod, "spec": {"containers": [{"name": "web", "image": image}]}})
    for at in range(40):
        service = _object("Service", f"web-{at:03}", f"team-{at % 10}")
        if at < 3:
            del service["metadata"]["labels"]["team"]
        found.append({**service, "spec": {"ports": [{"port": 80}]}})
    for at in range(30):
        config = _object("ConfigMap", f"defaults-{at}", f"team-{at % 10}")
        if at < 10:
            config["metadata"]["labels"]["generate.kyverno.io/policy-name"] = "namespace-defaults"
        found.append(config)
    return found


def _object(kind: str, name: str, namespace: str = "") -> Body:
    metadata: Body = {"name": name, "labels": {"team": "shop"}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def write(folder: Path) -> Path:
    """Write the repository below a folder, and return that."""
    for name, bodies in (
        ("policies", policies()),
        ("exceptions", exceptions()),
        ("cleanup", [CLEANUP]),
    ):
        (folder / name).mkdir(parents=True)
        for body in bodies:
            (folder / name / f"{body['metadata']['name']}.yaml").write_text(dump_yaml(body))
    (folder / "workloads.yaml").write_text("---\n".join(map(dump_yaml, objects())))
    return folder
