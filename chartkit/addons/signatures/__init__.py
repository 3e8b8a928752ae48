"""Signatures and attestations of images, verified as Kyverno does; needs the extra `signatures`."""
