"""The world as a trace may ask it: again, and without an effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from chartkit.engine.cel.host import Host
from chartkit.engine.cel.values import Value
from chartkit.model import Body, Json


class Unrepeatable(Exception):  # noqa: N818 - no error: a value that a trace does without
    """A question has an effect, or another answer each time."""


class RepeatHost(Host):
    """A host that passes on the questions whose answers are kept, or cost nothing.

    asked: whether there was any question.
    """

    def __init__(self, host: Host) -> None:
        self.asked = False
        self.policy_namespace = host.policy_namespace
        self._host = host

    @property
    def _world(self) -> Host:
        self.asked = True
        return self._host

    def _unrepeatable(self) -> Unrepeatable:
        self.asked = True
        return Unrepeatable()

    def get_resource(
        self, api_version: str, resource: str, namespace: str, name: str, /
    ) -> Body | None:
        return self._world.get_resource(api_version, resource, namespace, name)

    def list_resources(
        self, api_version: str, resource: str, namespace: str, labels: Mapping[str, str], /
    ) -> Body:
        return self._world.list_resources(api_version, resource, namespace, labels)

    def post_resource(self, _api: str, _resource: str, _namespace: str, _body: Body, /) -> Body:
        raise self._unrepeatable()

    def plural(self, api_version: str, kind: str, /) -> str:
        return self._world.plural(api_version, kind)

    def global_context(self, name: str, projection: str, /) -> Json:
        return self._world.global_context(name, projection)

    def http(
        self, _method: str, _url: str, _headers: Mapping[str, str], _body: Json, _ca: str, /
    ) -> Json:
        raise self._unrepeatable()

    def image_data(self, reference: str, /) -> Body:
        return self._world.image_data(reference)

    def generate(self, _namespace: str, _resources: Sequence[Body], /) -> None:
        raise self._unrepeatable()

    def verify_image(
        self, _image: str, _attestation: str | None, _attestors: Sequence[Value], /
    ) -> int:
        raise self._unrepeatable()

    def image_payload(self, _image: str, _attestation: str, /) -> Json:
        raise self._unrepeatable()

    def now(self) -> datetime:
        return self._world.now()

    def random_below(self, _limit: int, /) -> int:
        raise self._unrepeatable()
