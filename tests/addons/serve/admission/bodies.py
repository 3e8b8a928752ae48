"""Reviews and policies for the tests of the admission server."""

import json
from typing import Any

from chartkit.documents.reader import read_text
from chartkit.engine import RunnablePolicy, compile_any
from chartkit.engine.cleanup import Cleaner
from chartkit.model import Body, Resource
from tests.data import beside
from tests.objects import api_object

_TEXTS = beside(__file__)

POD: Body = api_object(
    "v1", "Pod", "default/web", spec={"containers": [{"name": "main", "image": "nginx:1.27"}]}
)

TEAM = _TEXTS["team"]
AUDITED = TEAM.replace("Enforce", "Audit").replace("require-team", "audit-team")
CEL = _TEXTS["cel"]
LABELS = _TEXTS["labels"]


def policies(*texts: str) -> tuple[RunnablePolicy, ...]:
    """Return compiled policies of YAML texts."""
    found: list[RunnablePolicy] = []
    for text in texts:
        for document in read_text(text, "policies.yaml"):
            compiled = compile_any(Resource(document.body, document.location))
            assert not isinstance(compiled, Cleaner)
            found.append(compiled)
    return tuple(found)


def review(body: Body = POD, **request: Any) -> bytes:
    """Return an AdmissionReview of the creation of an object, with other fields of the request."""
    group, _, version = str(body.get("apiVersion")).rpartition("/")
    plural = f"{str(body.get('kind')).lower()}s"
    metadata = body.get("metadata") or {}
    whole = {
        "uid": "c0ffee",
        "kind": {"group": group, "version": version, "kind": body.get("kind")},
        "resource": {"group": group, "version": version, "resource": plural},
        "operation": "CREATE",
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "object": body,
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        **request,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}
    ).encode()


def changed(body: Body, **metadata: Any) -> Body:
    """Return an object with other metadata."""
    return {**body, "metadata": {**body["metadata"], **metadata}}
