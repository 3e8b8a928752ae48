"""Whom the tests of bundles trust, and who signs in them; made once for a module."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from chartkit.addons.signatures.bundles.reader import read_bundle
from chartkit.addons.signatures.bundles.signers import Signer as Known
from chartkit.addons.signatures.bundles.verifier import BundlePolicy, Clock, verify
from chartkit.addons.signatures.trust.certificates import Identity
from chartkit.addons.signatures.trust.keys import read_public_key
from chartkit.addons.signatures.trust.trusted_root import Trust, read_trusted_root
from chartkit.model import Body, Json
from tests.signing.authority import (
    NOW,
    Authority,
    CertificateLog,
    Leaf,
    PrivateKey,
    authority,
    key_pem,
    new_key,
)
from tests.signing.bundle import Instance, Maker, push_bundle
from tests.signing.cosign import Signer
from tests.signing.rekor import Log
from tests.signing.tsa import TimestampServer, timestamp_server
from tests.unit.network.registry.registry_server import Registry

ARTIFACT = b"the manifest of an image"
DIGEST = f"sha256:{hashlib.sha256(ARTIFACT).hexdigest()}"
TYPE = "https://example.com/statement/v1"
WHO, BY = "dev@example.com", "https://issuer.example.com"
IDENTITY = Identity(WHO, "", BY, "")


def known(key: PrivateKey, algorithm: str = "sha256") -> Known:
    """A key as a policy has it."""
    return Known(read_public_key(key_pem(key)), (algorithm,))


@dataclass
class World:
    """new: a log of Rekor's second version; leaf: of somebody whom the authority knows."""

    authority: Authority = field(default_factory=lambda: authority("fulcio").intermediate())
    certificates: CertificateLog = field(default_factory=CertificateLog)
    log: Log = field(default_factory=Log)
    new: Log = field(default_factory=lambda: Log(origin="rekor2.example"))
    clock: TimestampServer = field(default_factory=timestamp_server)
    key: PrivateKey = field(default_factory=new_key)

    @cached_property
    def leaf(self) -> Leaf:
        """Valid for ten minutes, as Fulcio's are."""
        return self.authority.leaf(
            email=WHO,
            issuer=BY,
            log=self.certificates,
            start=NOW - timedelta(minutes=5),
            lasts=timedelta(hours=2),
        )

    @cached_property
    def instance(self) -> Instance:
        return Instance([self.authority], [self.log, self.new], [self.certificates], [self.clock])

    @cached_property
    def trust(self) -> Trust:
        return read_trusted_root(self.instance.root)

    @property
    def keyless(self) -> Maker:
        """Signs with the leaf, logged and stamped."""
        return Maker(Signer.of(self.leaf, self.log), [self.clock])

    @property
    def keyed(self) -> Maker:
        """Signs with the key, logged."""
        return Maker(Signer(self.key, log=self.log))

    @property
    def bare(self) -> Maker:
        """Signs with the key; nobody saw it."""
        return Maker(Signer(self.key))

    def keyless_checks(self, clock: Clock = Clock.LOGGED) -> BundlePolicy:
        return BundlePolicy(self.trust, clock, identity=IDENTITY)

    def key_checks(self) -> BundlePolicy:
        return BundlePolicy(self.trust, Clock.NONE, known(self.key))


def check(bundle: Body, checks: BundlePolicy, digest: str = DIGEST) -> Json:
    """The statement of a bundle that holds."""
    return verify(read_bundle(json.dumps(bundle).encode()), digest, checks)


def entry(bundle: Body) -> Body:
    """The first log entry of a bundle."""
    found: Body = bundle["verificationMaterial"]["tlogEntries"][0]
    return found


Change = Callable[[Body], object]
Make = Callable[[str], Body | bytes]
"""Makes a bundle for the digest of an image."""


def push_image(registry: Registry, name: str, *makers: Make, repository: str = "app") -> str:
    """An image with bundles beside it; repository: where those are pushed. Gives the digest."""
    digest = registry.add_image("app", name, {"name": name})
    for make in makers:
        push_bundle(registry, repository, digest, make(digest))
    return digest
