"""`verifyImages` rules: who signed and attested the images of an object.

Kyverno asks such a rule twice (`pkg/engine/image_verify.go`, `validation.go`): first signatures,
attestations and digests are verified, by the ports for signatures and registries, and what came of
it is written into the object's annotations; then the images are judged by what stands there.
Without a verifier, the rule says that a signature could not be verified, and never passes.
"""

from __future__ import annotations

from chartkit.engine.cluster_policy.verify_images.rule import (
    ImageRule,
    ImagesHandler,
    compile_verify_images,
)

__all__ = ["ImageRule", "ImagesHandler", "compile_verify_images"]
