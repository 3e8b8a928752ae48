"""Logs of certificates: what they promised (RFC 6962)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

from cryptography import x509

from chartkit.engine.ports import SignatureError
from chartkit.network.signatures.trust.sigstore_library import (
    certificate_timestamps,
    verify_certificate_timestamp,
)
from chartkit.network.signatures.trust.trusted_root import Log


def verify_sct(
    certificate: x509.Certificate, issuers: Sequence[x509.Certificate], logs: Mapping[bytes, Log]
) -> None:
    """Require that one log promised the certificate while its key was valid, as sigstore-go does.

    issuers: the certificate's own first. Raises SignatureError.
    """
    for promised in certificate_timestamps(certificate):
        log = logs.get(promised.log_id)
        if log is None or not log.is_valid(promised.timestamp.replace(tzinfo=UTC)):
            continue
        try:
            verify_certificate_timestamp(certificate, promised, issuers, log.key)
        except SignatureError:
            continue
        return
    raise SignatureError("only able to verify 0 SCT entries; unable to meet threshold of 1")
