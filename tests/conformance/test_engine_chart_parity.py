"""The engine chart renders what upstream's chart 3.9.0 renders, field by field."""

import base64
import json
from pathlib import Path

import pytest

from chartkit.documents.reader import read_file
from chartkit.kyverno.releases import current
from chartkit.model import Body
from tests.engine_chart import CRD, differences, objects, without_nulls
from tests.shared import FOLDER, shared

_REFERENCE = "reference/kyverno-chart-3.9.0"
_SETS = sorted(path.name.split(".")[0] for path in (FOLDER / _REFERENCE).glob("*.values.yaml"))
_CERTIFICATES = "kubernetes.io/tls"

_DEVIATIONS = {
    ("grafana", "ConfigMap", "kyverno-grafana", ""): "the recorded render leaves the dashboard out"
}
"""(set, kind, name, place) to the reason; the place is empty where a whole object deviates."""

_MIGRATION = {
    ("ClusterRole", "kyverno:migrate-resources", "/rules"): (
        "upstream's role names all resources, which disallow-wildcard-rbac refuses"
    ),
    ("Job", "kyverno-migrate-resources", "/metadata/annotations/helm.sh/hook-delete-policy"): (
        "upstream's job stays after an uninstallation"
    ),
}
"""(kind, name, place) to the reason, in every set that has the object."""

_UPSTREAMS_LIMITS = {"clientRateLimitQPS": 0, "clientRateLimitBurst": 0}
"""What leaves out the two flags that this chart alone sets: upstream's ClusterPolicies are few."""


@pytest.mark.skipif(not _SETS, reason="recorded facts are not here: upstream's renders")
@pytest.mark.parametrize("name", _SETS)
def test_the_render_is_upstreams(name: str) -> None:
    values = read_file(shared(f"{_REFERENCE}/{name}.values.yaml"))
    found = {
        key: body
        for key, body in objects(_upstreams(values[0].body if values else {})).items()
        if key[0] != CRD and key != _STOPS_CLEANUP and not _binds_own_rules(body)
    }
    wanted = _recorded(shared(f"{_REFERENCE}/{name}.rendered.yaml"))
    deviations = {(name, *key, "") for key in set(found) ^ set(wanted)}
    for kind, title in set(found) & set(wanted):
        one, other = (_comparable(each[kind, title]) for each in (found, wanted))
        deviations |= {(name, kind, title, place) for place in differences(one, other)}
    of_set = {key for key in _DEVIATIONS if key[0] == name}
    of_all = {(name, *key) for key in _MIGRATION if key[:2] in found}
    assert deviations == of_set | of_all


def _upstreams(values: Body) -> Body:
    admission = values.get("admissionController") or {}
    container = admission.get("container") or {}
    arguments = {**_UPSTREAMS_LIMITS, **(container.get("extraArgs") or {})}
    container = {**container, "extraArgs": arguments}
    return {**values, "admissionController": {**admission, "container": container}}


_STOPS_CLEANUP = ("Job", "kyverno-stop-cleanup")
"""The job that this chart alone has: upstream's leaves webhooks behind, now and then."""

_SCALED = ("--namespace=", "--label=")
"""Flags of the job that stops all controllers; upstream's only looks in the namespace `kyverno`."""

_OWN_RULES = (":core", ":additional")
"""Roles that this chart binds directly and upstream's puts together with others: there, the
aggregator writes the sum once more while Helm deletes them."""


def _binds_own_rules(body: Body) -> bool:
    role = str(body.get("roleRef", {}).get("name"))
    return body["kind"] == "ClusterRoleBinding" and role.endswith(_OWN_RULES)


def _recorded(file: Path) -> dict[tuple[str, str], Body]:
    bodies = [document.body for document in read_file(file)]
    return {(body["kind"], body["metadata"]["name"]): body for body in bodies}


def _comparable(body: Body) -> Body:
    """The object less what Kubernetes takes for absent; certificates by their shape, as each render
    makes new ones."""
    text = json.dumps(without_nulls(body)).replace(f":{current().app_version}", ":v1.19.0")
    body = json.loads(text)
    if body["kind"] == "ClusterRole" and body["metadata"]["name"].endswith(_OWN_RULES):
        labels = body["metadata"]["labels"]
        component = labels["app.kubernetes.io/component"].removesuffix("-rules")
        labels = {**labels, "app.kubernetes.io/component": component}
        body = {**body, "metadata": {**body["metadata"], "labels": labels}}
    if body["kind"] == "Job":
        container = body["spec"]["template"]["spec"]["containers"][0]
        container["args"] = [each for each in container["args"] if not each.startswith(_SCALED)]
    if body.get("type") == _CERTIFICATES:
        body = {**body, "data": {name: _shape(text) for name, text in body["data"].items()}}
    return body


def _shape(text: str) -> str:
    lines = base64.b64decode(text).decode().splitlines()
    return f"{lines[0]} … {lines[-1]}"
