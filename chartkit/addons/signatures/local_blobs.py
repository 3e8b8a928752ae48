"""Verifies signatures of content that lies at hand: no registry is asked, and no log.

This module is light: cryptography is imported when the first question comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from cryptography import x509
from cryptography.x509.oid import NameOID

from chartkit.addons.signatures.cosign.checks import CheckOptions, logged_at, verify_certificate
from chartkit.addons.signatures.cosign.layers import SignedLayer, read_promise
from chartkit.addons.signatures.errors import installed
from chartkit.addons.signatures.trust.certificates import public_key, read_certificate
from chartkit.addons.signatures.trust.keys import KeyVerifier, PublicKey, read_pem
from chartkit.addons.signatures.trust.trusted_root import Trust
from chartkit.engine.ports import UNASKED, KeySource, LoggedBlob, SignatureError, SignatureSource
from chartkit.errors import LookupFailed
from chartkit.network.cluster.cleaning import NO_SECRETS

if TYPE_CHECKING:
    from chartkit.addons.signatures.trust.trusted_root import TrustedRoots


Trusting: TypeAlias = Callable[[], "TrustedRoots"]

_NO_KEY: Final = "failed to judge signature type from public key configuration"
_PEM: Final = "-----BEGIN PUBLIC KEY-----"


class LocalBlobs:
    """Verifies with public keys that policies name, and with those of transparency logs."""

    def __init__(self, keys: KeySource = NO_SECRETS, trust: Trusting | None = None) -> None:
        """Create the port. keys: of Secrets; trust: gives the trusted root, the public instance's
        for None."""
        self._keys = keys
        self._trust = trust

    def verify(self, content: bytes, signature: bytes, key: str, /) -> None:
        """Require a signature of some content by a key (PEM or `k8s://…`); raises SignatureError,
        or LookupFailed for a reference to no key."""
        with installed():
            from chartkit.addons.signatures.trust.keys import KeyVerifier

            verifier = KeyVerifier(self._loaded(key))
        verifier.verify(signature, content)

    def logged(
        self, blob: LoggedBlob, key: str = "", certificate: str = "", chain: str = "", /
    ) -> str | None:
        """Return the name in the certificate of who signed, as a log's entry has it (see
        `BlobSource`)."""
        with installed():
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


_OPTIONS: Final = "failed to create cosign check options"


def certified_key(text: str, chain: str) -> PublicKey:
    """Return the key of a certificate that a policy names; chain: who must vouch for it, the root
    last, empty for nobody. Raises SignatureError."""
    what = "failed to load certificate"
    try:
        certificate = _first(text)
        if chain:
            what = "failed to load certificate chain"
            blocks, has_more = read_pem(chain)
            if not blocks or has_more:
                raise SignatureError("error during PEM decoding")
            *between, root = [read_certificate(block.content) for block in blocks]
            what = "certificate chain validation failed"
            checks = CheckOptions(roots=(root,), intermediates=between, ignores_sct=True)
            verify_certificate(certificate, checks)
        return public_key(certificate)
    except SignatureError as error:
        raise SignatureError(f"{_OPTIONS}: {what}; {error.message}") from None


def signer_of(blob: LoggedBlob, key: PublicKey | None, trust: Trust) -> str | None:
    """Return the name in the certificate of who signed; None where the log promised nothing of
    that, or another key signed than the one that is wanted. Raises LookupFailed for a name that is
    not read."""
    verifier = None if key is None else KeyVerifier(key)
    checks = CheckOptions(verifier=verifier, ignores_sct=True, logs=trust.logs)
    try:
        certificate = _first(blob.certificate)
        promise = read_promise(blob.entry)
        layer = SignedLayer(blob.content, blob.signature, {}, certificate, (), promise)
        if logged_at(layer, checks) is None:
            return None
    except SignatureError:
        return None
    return signer_name(certificate)


def signer_name(certificate: x509.Certificate) -> str:
    """Return the name in a certificate (`GetNameInfoFromX509Cert`): an e-mail address, the common
    name, or else the last of its alternative names."""
    names = _alternatives(certificate)
    found = [name.value for name in names if isinstance(name, x509.RFC822Name)]
    subject = certificate.subject
    found += [str(one.value) for one in subject.get_attributes_for_oid(NameOID.EMAIL_ADDRESS)]
    found += [str(one.value) for one in subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1:]]
    if any(found):
        return next(filter(None, found))
    if not names:
        return ""
    last = names[-1]
    if isinstance(last, x509.DNSName | x509.UniformResourceIdentifier):
        return last.value
    raise LookupFailed("the signer is in a name of an unsupported kind")


def _alternatives(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return []
    return list(extension.value)


def _first(text: str) -> x509.Certificate:
    """Return the certificate in the first block of a PEM text, whatever its label."""
    blocks, _ = read_pem(text)
    if not blocks:
        raise SignatureError("x509: malformed certificate")
    return read_certificate(blocks[0].content)
