"""The port through which an expression asks the world outside its variables.

Only Kyverno's libraries ask. What cannot be answered is a `CelError`, which says what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import SystemRandom

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.values import Value
from chartkit.model import Body, Json


class Host:
    """The cluster, registries, services, the clock and chance, as CEL's functions see them.

    What a subclass does not answer is asked of a world with nothing in it but the clock and chance.
    """

    policy_namespace = ""
    """The namespace of the policy that asks; empty for one that belongs to none."""

    def get_resource(
        self, api_version: str, resource: str, _namespace: str, name: str, /
    ) -> Body | None:
        """An object of the cluster; None if it does not exist."""
        raise CelError(f"no cluster to ask for {resource} ({api_version}) {name}")

    def list_resources(
        self, api_version: str, resource: str, _namespace: str, _labels: Mapping[str, str], /
    ) -> Body:
        """A list object of the cluster, with `items`."""
        raise CelError(f"no cluster to ask for {resource} ({api_version})")

    def post_resource(
        self, api_version: str, resource: str, _namespace: str, _body: Body, /
    ) -> Body:
        """The API's answer to a posted object."""
        raise CelError(f"no cluster to send {resource} ({api_version}) to")

    def plural(self, api_version: str, kind: str, /) -> str:
        """The resource name of a kind: `deployments` for `Deployment`."""
        raise CelError(f"no cluster to ask for the resource of {kind} ({api_version})")

    def global_context(self, _name: str, _projection: str, /) -> Json:
        """The data of a GlobalContextEntry, or of one of its projections (empty: the whole).

        None where there is no such entry.
        """
        return None

    def http(
        self, method: str, url: str, _headers: Mapping[str, str], _body: Json, _ca_bundle: str, /
    ) -> Json:
        """Return the answer of a service, decoded from JSON.

        Functions see every number as a double but those that are `Int64`.
        """
        raise CelError(f"no network for {method} {url}")

    def image_data(self, reference: str, /) -> Body:
        """A registry's answer for an image."""
        raise CelError(f"no registry to ask for {reference}")

    def generate(self, _namespace: str, _resources: Sequence[Body], /) -> None:
        """Takes what `generator.Apply` makes."""

    def verify_image(
        self, image: str, _attestation: str | None, _attestors: Sequence[Value], /
    ) -> int:
        """The number of attestors that vouch for an image (attestation: None) or an attestation."""
        raise CelError(f"no registry to verify {image} with")

    def image_payload(self, image: str, _attestation: str, /) -> Json:
        raise CelError(f"no registry to ask for {image}")

    def now(self) -> datetime:
        """The time, with its zone."""
        return datetime.now(UTC)

    def random_below(self, limit: int, /) -> int:
        """A number from 0 up to but not including the limit."""
        return _RANDOM.randrange(limit)


_RANDOM = SystemRandom()
OFFLINE = Host()
