"""`verifyImages` rules, as far as they can be decided without signatures.

Kyverno asks such a rule twice (`pkg/engine/image_verify.go`, `validation.go`): first its signatures
and digests are verified, then what is known of the images is validated. References, skipped images,
digests and what an object's annotations record are judged as Kyverno judges them, and a digest that
is to be added is asked of a registry where there is one to ask. Of a signature the rule says that
it could not be verified, and never passes.
"""

from __future__ import annotations

from chartkit.engine.verify_images.rule import ImageRule, ImagesHandler, compile_verify_images

__all__ = ["ImageRule", "ImagesHandler", "compile_verify_images"]
