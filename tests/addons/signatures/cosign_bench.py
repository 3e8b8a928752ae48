"""Images signed with cosign, each in a repository of its own, and who is asked about them.

One registry, one authority and one log serve a whole module of tests.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chartkit.addons.signatures.source import Signatures
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import read_settings
from tests.signing.authority import Authority, CertificateLog, Leaf, authority, key_pem, new_key
from tests.signing.cosign import Layer, Signer, push
from tests.signing.rekor import Log
from tests.signing.tsa import TimestampServer, timestamp_server
from tests.unit.network.registry.registry_server import Registry, serving

IDENTITY = "me@example.com"
ISSUER = "https://issuer.example"
KIND = "https://example.com/review"

Make = Callable[[str], Layer]
"""A signature of the image with a digest."""


@dataclass(slots=True)
class Bench:
    """key signs, other is a stranger's; leaf is the certificate of IDENTITY."""

    registry: Registry
    trusted_root: Path | None = None
    key: Any = field(default_factory=new_key)
    other: Any = field(default_factory=new_key)
    log: Log = field(default_factory=Log)
    certificates: CertificateLog = field(default_factory=CertificateLog)
    root: Authority = field(default_factory=authority)
    clock: TimestampServer = field(default_factory=timestamp_server)
    between: Authority = field(init=False)
    leaf: Leaf = field(init=False)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.between = self.root.intermediate()
        self.leaf = self.issue()

    def issue(self, **changes: Any) -> Leaf:
        """A certificate for IDENTITY."""
        given = {"email": IDENTITY, "issuer": ISSUER, "log": self.certificates, **changes}
        return self.between.leaf(**given)

    @property
    def signer(self) -> Signer:
        return Signer(self.key, log=self.log)

    @property
    def keyless(self) -> Signer:
        return Signer.of(self.leaf, self.log)

    @property
    def source(self) -> Signatures:
        """Who has not asked anything yet."""
        return Signatures(Registries(read_settings((), (), None, None)), self.trusted_root)

    def image(self) -> tuple[str, str, str]:
        """A new image: its reference, repository and digest."""
        repository = f"team/app{next(self.numbers)}"
        digest = self.registry.add_image(repository, "1", {"of": repository})
        return f"{self.registry.host}/{repository}:1", repository, digest

    def signed(self, *makes: Make) -> str:
        """An image with signatures."""
        image, repository, digest = self.image()
        push(self.registry, repository, digest, [make(digest) for make in makes])
        return image

    def attested(self, *makes: Make) -> str:
        """An image with attestations."""
        image, repository, digest = self.image()
        push(self.registry, repository, digest, [make(digest) for make in makes], "att")
        return image

    def by_key(self, image: str, **changes: Any) -> VerificationRequest:
        """Whether the key signed, and the log took it."""
        given = {"key": key_pem(self.key), "rekor_key": self.log.pem, "ignores_sct": True}
        return VerificationRequest(image, **{**given, **changes})

    def by_identity(self, image: str, **changes: Any) -> VerificationRequest:
        """Whether IDENTITY signed, and the logs took certificate and signature."""
        given = {
            "roots": self.root.root_pem,
            "subject": IDENTITY,
            "issuer": ISSUER,
            "rekor_key": self.log.pem,
            "ctlog_key": self.certificates.pem,
        }
        return VerificationRequest(image, **{**given, **changes})


Shape = Callable[[Bench], Make]
Changes = Callable[[Bench], dict[str, Any]]


def no_changes(_: Bench) -> dict[str, Any]:
    """The question as it stands."""
    return {}


def said(bench: Bench, question: VerificationRequest) -> str:
    """What is wrong with an image's signatures; empty where nothing is."""
    try:
        found = bench.source.signature(question)
    except SignatureError as error:
        return error.message
    assert found.digest.startswith("sha256:")
    return ""


def with_time(layer: Layer, seconds: int) -> Layer:
    """A signature whose entry says another time than the log promised."""
    bundle = json.loads(layer.annotations["dev.sigstore.cosign/bundle"])
    bundle["Payload"]["integratedTime"] += seconds
    return layer.having(bundle=json.dumps(bundle))


@contextmanager
def serving_bench(folder: Path) -> Iterator[Bench]:
    """A bench; folder: for Docker's configuration, which there is none of."""
    with pytest.MonkeyPatch.context() as patch, serving() as registry:
        patch.setenv("DOCKER_CONFIG", str(folder))
        yield Bench(registry)
