"""`validationConfigurations.mutateDigest`: images that are named without a digest get theirs
(`HandleMutating` of `pkg/cel/policies/ivpol/engine`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel_policies.conditions import holds
from chartkit.engine.cel_policies.evaluator import Admission, Evaluator
from chartkit.engine.cel_policies.exceptions import CelException
from chartkit.engine.cel_policies.expressions import ExpressionCompiler
from chartkit.engine.cel_policies.images.evidence import Evidence
from chartkit.engine.cel_policies.images.host import ImageHost
from chartkit.engine.cel_policies.images.references import compile_references
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import PolicyScope
from chartkit.engine.context.images import extract_images, with_images
from chartkit.engine.request.phase import Phase
from chartkit.errors import EvaluationError, LookupFailed, NoSource
from chartkit.model import Body, Json, RuleResult, RuleType, Status

RULE: Final = "mutateDigest"


class DigestEvaluator(Evaluator):
    """Adds the digests that an ImageValidatingPolicy wants.

    It verifies nothing. What an expression of the policy has against a request is the validation's
    to say, which comes after it. Without a registry to ask it says nothing, as Kyverno's command
    line, and the validation judges the images as they are written.
    """

    type = RuleType.IMAGE_VERIFY
    phase = Phase.IMAGES

    def __init__(
        self, policy: CelPolicy, environment: Environment, exceptions: Sequence[CelException]
    ) -> None:
        """Raises CompileError where an expression or a glob does not compile."""
        super().__init__(policy)
        compiler = ExpressionCompiler(policy, environment)
        self._conditions = compiler.conditions(policy.conditions)
        self._fits = compile_references(policy, compiler)
        self._exceptions = [
            compiler.conditions(one.conditions) for one in exceptions if one.is_full
        ]

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """The object with digests, or why a digest is not to be had; nothing where none is
        missing. What could be added is added even where another one could not."""
        body = admission.attributes.object
        if body is None or admission.attributes.request.is_json:
            return None
        host = ImageHost(self.policy, admission.world, self._fits, Evidence())
        try:
            if not self._applies(admission, host):
                return None
            missing = list(self._without_digest(body))
        except (CelError, EvaluationError):
            return None
        pinned: dict[tuple[str, ...], str] = {}
        problems: dict[tuple[str, ...], str] = {}
        for path, image in missing:
            try:
                pinned[path] = f"{image}@{_digest(host.fetch(image))}"
            except NoSource:
                continue
            except LookupFailed as error:
                problems[path] = f"failed to resolve digest for image {image}: {error.message}"
        return self._said(body, pinned, problems)

    def _said(
        self,
        body: Body,
        pinned: Mapping[tuple[str, ...], str],
        problems: Mapping[tuple[str, ...], str],
    ) -> RuleResult | None:
        if not pinned and not problems:
            return None
        if problems:
            text = f"failed to update digest: {'; '.join(problems.values())}"
            fields = tuple("/".join(("", *path)) for path in problems)
            result = self.result(Status.ERROR, text, RULE, fields=fields)
        else:
            result = self.result(Status.PASS, "mutated image digest", RULE)
        return replace(result, patched=with_images(body, pinned)) if pinned else result

    def _applies(self, admission: Admission, host: ImageHost) -> bool:
        ignores, scope = self.policy.ignores_errors, PolicyScope(admission.scope)
        return holds(self._conditions, scope, host, ignores) and not any(
            holds(programs, scope, host, ignores) for programs in self._exceptions
        )

    def _without_digest(self, body: Body) -> Iterator[tuple[tuple[str, ...], str]]:
        """Return the paths of the policy's images without digest, and their full references."""
        for members in extract_images(body).values():
            for one in members.values():
                image: str = one["reference"]
                if not one.get("digest") and self._fits(image):
                    yield tuple(one["jsonPointer"].split("/")[1:]), image


def _digest(image: Body) -> str:
    """The digest in what a registry says; raises NoSource where a user's own answer has none."""
    digest: Json = image.get("digest")
    if not isinstance(digest, str) or not digest:
        raise NoSource("the answer has no digest")
    return digest
