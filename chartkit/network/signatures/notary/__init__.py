"""Signatures of the Notary Project (notation), as Kyverno verifies them."""

from chartkit.network.signatures.notary.cluster_policies import fetch_attestations, verify_signature
from chartkit.network.signatures.notary.image_policies import attested, payload, signed

__all__ = ["attested", "fetch_attestations", "payload", "signed", "verify_signature"]
