"""Signers of content at hand: the keys of certificates, and the names in them."""

from __future__ import annotations

from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from chartkit.addons.signatures.cosign.checks import CheckOptions, logged_at, verify_certificate
from chartkit.addons.signatures.cosign.layers import SignedLayer, read_promise
from chartkit.addons.signatures.trust.certificates import extension, public_key, read_certificate
from chartkit.addons.signatures.trust.keys import KeyVerifier, PublicKey, read_pem
from chartkit.addons.signatures.trust.trusted_root import Trust
from chartkit.engine.ports import LoggedBlob, SignatureError
from chartkit.errors import LookupFailed

_OPTIONS: Final = "failed to create cosign check options"


def certified_key(text: str, chain: str) -> PublicKey:
    """Return the key of a certificate that a policy names; chain: the certificates that must vouch
    for it, the root last; empty for none. Raises SignatureError."""
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
    try:
        extended = extension(certificate, x509.SubjectAlternativeName)
    except ValueError:
        extended = None
    names = [] if extended is None else list(extended.value)
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


def _first(text: str) -> x509.Certificate:
    """Return the certificate in the first block of a PEM text, whatever its label."""
    blocks, _ = read_pem(text)
    if not blocks:
        raise SignatureError("x509: malformed certificate")
    return read_certificate(blocks[0].content)
