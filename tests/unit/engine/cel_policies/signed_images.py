"""Registries and signers of the tests: images by reference, and who vouches for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chartkit.engine.cli_files.world import UserImages
from chartkit.engine.ports.signatures import SignatureError
from chartkit.engine.ports.world import NOBODY_ELSE, Credentials, World
from chartkit.errors import LookupFailed
from chartkit.model import Body, Json

DIGEST = "sha256:" + "a" * 64


@dataclass(slots=True)
class Images:
    """A registry; known: its references without digests; asked: of what, as whom, in order."""

    known: Sequence[str] = ("ghcr.io/a/app:1", "ghcr.io/a/other:1")
    asked: list[tuple[str, Credentials]] = field(default_factory=list)

    def descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        self.asked.append((reference, credentials))
        if reference.partition("@")[0] not in self.known:
            raise LookupFailed(f"GET {reference}: MANIFEST_UNKNOWN: manifest unknown")
        return {"image": reference, "digest": DIGEST, "config": {"config": {"User": "65532"}}}

    def image(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        return self.descriptor(reference, credentials)

    def digest(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> str:
        return str(self.descriptor(reference, credentials)["digest"])

    def learn(self, objects: Iterable[Body], /) -> None:
        """Knows enough."""


@dataclass(slots=True)
class Signers:
    """signatures: attestors (by name) of each image; payloads: what is attested, by image, type
    and attestor, attestor "" for a referrer that nobody signed; broken: a failure of the network;
    attestors: all that were asked, as they came."""

    signatures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    payloads: Mapping[tuple[str, str, str], Json] = field(default_factory=dict)
    broken: bool = False
    attestors: list[Body] = field(default_factory=list)

    def signature(self, _question: object, /) -> object:
        raise NotImplementedError

    attestations = signature

    def signed(self, image: str, attestor: Body, _credentials: Credentials, /) -> None:
        self.attestors.append(attestor)
        if self.broken:
            raise LookupFailed("connection refused")
        if attestor["name"] not in self.signatures.get(image, ()):
            raise SignatureError("no signatures found")

    def attested(
        self, image: str, attestation: Body, attestor: Body, _credentials: Credentials, /
    ) -> Json:
        return self._payload(image, attestation, attestor["name"])

    def payload(self, image: str, attestation: Body, _credentials: Credentials, /) -> Json:
        return self._payload(image, attestation, "")

    def _payload(self, image: str, attestation: Body, attestor: str) -> Json:
        named = attestation.get("intoto") or attestation["referrer"]
        key = (image, named["type"], attestor)
        if key not in self.payloads:
            raise SignatureError(f"artifact of type {named['type']} not found")
        return self.payloads[key]


def world(signers: Signers, images: Images | None = None) -> World:
    """A world with a registry, and with somebody who verifies."""
    return World(
        images=UserImages({}, images or Images()),
        signatures=signers,  # type: ignore[arg-type]
    )
