"""The world that the examples of Kyverno's functions speak of."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chartkit.engine.cel.library.kubernetes.authz import Authorizer, Decision
from chartkit.engine.cel.values import Value
from chartkit.model import Body, Json
from tests.conformance.cel_host import RecordedHost
from tests.data import tables

CONTEXT: Final[Mapping[str, Any]] = tables(__file__)["context"]


VARIABLES: Final[Mapping[str, Value]] = {
    "attestors": {"ci": {"name": "ci"}},
    "authorizer": Authorizer(
        "alice", lambda access: Decision(access.verb == "get", "only reading is allowed")
    ),
    "object": {"a": [1, None]},
}
"""What the examples may refer to."""


class ExampleHost(RecordedHost):
    """One ConfigMap, one GlobalContextEntry, two services, images with signatures."""

    def __init__(self) -> None:
        super().__init__(CONTEXT, "team")

    def list_resources(
        self, api_version: str, resource: str, namespace: str, labels: Mapping[str, str], /
    ) -> Body:
        found = super().list_resources(api_version, resource, namespace or "team", labels)
        items = [each for each in found["items"] if labels.items() <= _labels(each).items()]
        return {"items": items}

    def verify_image(
        self, _image: str, _attestation: str | None, attestors: Sequence[Value], /
    ) -> int:
        return len(attestors)

    def image_payload(self, _image: str, _attestation: str, /) -> Json:
        return {"format": "spdx"}


def _labels(body: Body) -> Mapping[str, str]:
    labels: Mapping[str, str] = body.get("metadata", {}).get("labels", {})
    return labels
