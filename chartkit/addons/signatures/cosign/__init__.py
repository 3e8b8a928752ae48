"""Signatures and attestations in cosign's own format."""
