"""Verifies signatures of content that lies at hand: no registry is asked, and no log.

This module is light: cryptography is imported when the first question comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from chartkit.addons.signatures.errors import installed
from chartkit.engine.ports import UNASKED, KeySource, LoggedBlob, SignatureError, SignatureSource
from chartkit.errors import LookupFailed
from chartkit.network.cluster.cleaning import NO_SECRETS

if TYPE_CHECKING:
    from chartkit.addons.signatures.trust.keys import PublicKey
    from chartkit.addons.signatures.trust.trusted_root import TrustedRoots


Trusting: TypeAlias = Callable[[], "TrustedRoots"]

_NO_KEY: Final = "failed to judge signature type from public key configuration"
_PEM: Final = "-----BEGIN PUBLIC KEY-----"


class LocalBlobs:
    """Verifies with public keys that policies name, and with the keys of transparency logs."""

    def __init__(self, keys: KeySource = NO_SECRETS, trust: Trusting | None = None) -> None:
        """Create the port. keys: of Secrets; trust: gives the trusted root, the public instance's
        for None."""
        self._keys = keys
        self._trust = trust

    def verify(self, content: bytes, signature: bytes, key: str, /) -> None:
        """Require a signature of some content by a key (PEM or `k8s://…`); raises SignatureError,
        or LookupFailed for a reference that leads to no key."""
        with installed():
            from chartkit.addons.signatures.trust.keys import KeyVerifier

            verifier = KeyVerifier(self._loaded(key))
        verifier.verify(signature, content)

    def logged(
        self, blob: LoggedBlob, key: str = "", certificate: str = "", chain: str = "", /
    ) -> str | None:
        """The name in the certificate of who signed, as a log's entry has it (see `BlobSource`)."""
        with installed():
            from chartkit.addons.signatures.cosign.checks import certified_key, signer_of
            from chartkit.addons.signatures.trust.trusted_root import TrustedRoots

            signer = self._loaded(key) if key else None
            if certificate:
                signer = certified_key(certificate, chain)
            trust = TrustedRoots() if self._trust is None else self._trust()
            return signer_of(blob, signer, trust())

    def _loaded(self, key: str) -> PublicKey:
        """Return a public key that a policy names; raises LookupFailed for what leads to none."""
        from chartkit.addons.signatures.trust.keys import load_key, read_public_key

        try:
            if key.startswith(_PEM):
                return read_public_key(key)
            return load_key(key, self._keys, _NO_KEY)
        except SignatureError:
            raise LookupFailed(_NO_KEY) from None


def local_blobs(keys: KeySource | None, source: SignatureSource) -> LocalBlobs:
    """Return the verifier for the keys of some Secrets, with the trusted root that signatures of
    images are verified with."""
    if source is UNASKED:
        return LocalBlobs(keys or NO_SECRETS)
    from chartkit.addons.signatures.source import Signatures

    trust = source.trusted if isinstance(source, Signatures) else None
    return LocalBlobs(keys or NO_SECRETS, trust)
