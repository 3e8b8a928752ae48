"""Signatures of the Notary Project (notation), as Kyverno verifies them."""

from chartkit.addons.signatures.notary.policies import (
    attested,
    fetch_attestations,
    payload,
    signed,
    verify_signature,
)

__all__ = ["attested", "fetch_attestations", "payload", "signed", "verify_signature"]
