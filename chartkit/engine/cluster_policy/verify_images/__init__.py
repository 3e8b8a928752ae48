"""`verifyImages` rules: who signed and attested the images of an object.

Kyverno asks such a rule twice (`pkg/engine/image_verify.go`, `validation.go`): first signatures,
attestations and digests are verified, by the ports for signatures and registries, and the outcome
is written into the object's annotations; then the images are judged by these annotations. Without a
verifier, the rule reports that a signature could not be verified, and never passes.
"""

from __future__ import annotations

from chartkit.engine.cluster_policy.verify_images.rule import (
    ImageRule,
    ImagesHandler,
    compile_verify_images,
)

__all__ = ["ImageRule", "ImagesHandler", "compile_verify_images"]
