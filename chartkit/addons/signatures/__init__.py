"""Signatures and attestations of images, verified as Kyverno does; needs the extra `signatures`."""

from chartkit.addon import Addon

SIGNATURES = Addon(
    "signatures",
    ports={
        "images": "chartkit.addons.signatures.source:Signatures",
        "blobs": "chartkit.addons.signatures.source:local_blobs",
    },
)
