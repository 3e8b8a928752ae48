"""`verifyImages` rules: who signed and attested the images of an object.

Kyverno asks such a rule twice (`pkg/engine/image_verify.go`, `validation.go`): first signatures,
attestations and digests are verified, by the ports for signatures and registries, and the outcome
is written into the object's annotations; then the images are judged by these annotations. Without a
verifier, the rule reports that a signature could not be verified, and never passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from chartkit.engine.budget import ITERATION, Budget
from chartkit.engine.cluster_policy.match import Facts
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.cluster_policy.run import CompiledRule
from chartkit.engine.cluster_policy.verify_images.blocks import ImageBlock, read_blocks
from chartkit.engine.cluster_policy.verify_images.signed import (
    AttestationCheck,
    Extract,
    Finding,
    Image,
    Verifier,
    check_attestors,
    compile_extractors,
    images_in,
    pull_secrets,
    recorded_status,
    with_record,
)
from chartkit.engine.context.context import Context
from chartkit.engine.context.images import with_images
from chartkit.engine.context.variables import Template, compile_template
from chartkit.engine.ports.world import UNASKED
from chartkit.engine.request import Operation, Request
from chartkit.errors import ChartkitError, EvaluationError, LookupFailed, Reraise
from chartkit.model import Body, RuleResult, Status, pointed_at, pointer_of

_COMPARED: Final = "the images of an object against the entries of verifyImages"
_NO_DIGEST: Final = "failed to update digest"


class SubstitutionFailed(EvaluationError):  # noqa: N818 - says what happened
    """Variables of an entry that cannot be resolved: nothing is verified then."""


class Standing(StrEnum):
    """The state of an image before it is validated, as annotations record it; UNKNOWN: its
    signature decides, and cannot be verified here."""

    PASSED = "pass"
    SKIPPED = "skip"
    FAILED = "fail"
    UNKNOWN = ""


_KNOWN: Final = (Standing.PASSED, Standing.SKIPPED, Standing.FAILED)
_STANDINGS: Final = {Status.PASS: Standing.PASSED, Status.SKIP: Standing.SKIPPED}
"""Everything else counts as failed."""
_NO_PARTS: Final = dict.fromkeys(
    ("reference", "referenceWithTag", "registry", "path", "name", "tag", "digest"), ""
)


@dataclass(slots=True)
class _Answers:
    """The findings of the first of the two passes: its answers and their images, the state of each
    image, and the digests to add, by the keys that lead to an image."""

    spoken: list[tuple[Status, str, Image]]
    standing: dict[str, Standing]
    pinned: dict[tuple[str, ...], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Check:
    """One object's images being verified: all entries, with their variables replaced, what
    expressions see, and who is asked."""

    blocks: Sequence[ImageBlock]
    context: Context
    verifier: Verifier


@dataclass(frozen=True, slots=True)
class ImagesHandler:
    """The handler of a verifyImages rule: called, it verifies; `validate` comes after."""

    rule: Rule
    policy: Policy
    blocks: tuple[ImageBlock, ...]
    template: Template
    extract: Extract

    @property
    def validates(self) -> bool:
        return any(block.verifies_digest or block.required for block in self.blocks)

    def concerns(self, request: Request) -> bool:
        """Report whether the rule names any image of the object, or cannot tell."""
        if request.operation is Operation.DELETE:
            return False
        try:
            return bool(self._matching(Budget(), request))
        except ChartkitError:
            return True

    def shown(self, base: Context, request: Request) -> Context:
        """A context in which expressions see the images that the rule's extractors find."""
        try:
            images = self.extract(request.resource.body)
        except EvaluationError:
            return base
        context = base.child()
        context.add(("images",), dict(images))
        return context

    def __call__(self, context: Context, request: Request) -> RuleResult | None:
        """Return the result for signatures and digests; None if the rule requires neither."""
        answers = self._verify(context, request)
        results = [self._answer(*answer) for answer in answers.spoken]
        if not results:
            return None
        patched = with_images(request.resource.body, answers.pinned)
        if not _is_offline(context) and answers.standing:
            patched = with_record(patched, self._key, self.rule.name, answers.standing)
        is_changed = patched is not request.resource.body
        return replace(
            results[0], others=tuple(results[1:]), patched=patched if is_changed else None
        )

    def validate(self, context: Context, request: Request) -> RuleResult | None:
        """Validate the images; None if that depends on a signature that could not be verified."""
        is_open = False
        standing: Mapping[str, Standing] = {}
        if _is_offline(context):
            try:
                standing = self._verify(context, request).standing
            except SubstitutionFailed:
                is_open = any(block.is_signed for block in self.blocks)
        standings: list[tuple[Standing | None, str]] = []
        images = self._images(request)
        context.budget.spend(len(self.blocks) * len(images), _COMPARED)
        for block in self.blocks:
            for image in images:
                if not block.speaks_of(image.reference):
                    continue
                try:
                    now = self._stand(block, image, standing, request)
                except EvaluationError as error:
                    return self._answer(Status.FAIL, error.message, image)
                standings.append((now, image.reference))
        if is_open or any(now is Standing.UNKNOWN for now, _ in standings):
            return None
        skipped = [image for now, image in standings if now is Standing.SKIPPED]
        if not skipped:
            return self._answer(Status.PASS, "image verified")
        if any(now is Standing.PASSED for now, _ in standings):
            text = " ".join(["image verified, skipped images:", *skipped])
            return self._answer(Status.PASS, text)
        return self._answer(Status.SKIP, " ".join(["image skipped, skipped images:", *skipped]))

    def _stand(
        self, block: ImageBlock, image: Image, standing: Mapping[str, Standing], request: Request
    ) -> Standing | None:
        """The state of an image; None if nothing is required. EvaluationError with its fault."""
        state = standing.get(image.reference)
        is_open = state is Standing.UNKNOWN
        if block.verifies_digest and not image.digest and not (is_open and block.mutates_digest):
            raise EvaluationError(f"missing digest for {image.reference}")
        if is_open:
            return state
        if not block.required:
            return None
        if state is None and self._is_unchanged(request, image):
            state = Standing.PASSED
        if state is None:
            state = self._recorded(request.resource.body, image.reference)
        if state is Standing.FAILED:
            raise EvaluationError(f"unverified image {image.reference}")
        return state

    def _verify(self, context: Context, request: Request) -> _Answers:
        answers = _Answers([], {})
        images = self._matching(context.budget, request)
        if self.template.is_constant:
            blocks: Sequence[ImageBlock] = self.blocks
        else:
            with Reraise("failed to substitute variables: ", raised=SubstitutionFailed):
                pairs = zip(self.template.resolve(context), self.rule.verify_images, strict=True)
                blocks = read_blocks([_with_conditions(*pair) for pair in pairs])
        context.budget.spend(ITERATION * len(blocks) * len(images), _COMPARED)
        # The secrets of an object's first image are taken for those of all.
        secrets = pull_secrets(request.resource.body, images[0]) if images else ()
        context = context.child()
        check = _Check(blocks, context, Verifier(context.world.signatures, secrets))
        for block in blocks:
            for image in images:
                if self._is_unchanged(request, image):
                    answers.standing[image.reference] = Standing.PASSED
                else:
                    self._verify_image(check, block, image, answers)
        return answers

    def _verify_image(
        self, check: _Check, block: ImageBlock, image: Image, answers: _Answers
    ) -> None:
        finding = self._find(check, block, image) if block.is_signed else None
        name = image.reference
        if block.mutates_digest and not image.digest:
            # The digest of an image that is named without one; empty if it is unavailable.
            if finding is not None and finding.digest:
                digest = finding.digest
            else:
                try:
                    credentials = check.verifier.with_secrets(block.credentials)
                    digest = check.context.world.images.digest(image.reference, credentials)
                except LookupFailed as error:
                    answers.spoken.append((Status.ERROR, f"{_NO_DIGEST}: {error.message}", image))
                    digest = ""
            if digest:
                answers.pinned[image.path] = f"{name}@{digest}"
                name = image.at(digest)
                if finding is None:
                    answers.spoken.append((Status.PASS, "mutated image digest", image))
        if finding is not None:
            standing = _STANDINGS.get(finding.status, Standing.FAILED)
            is_open = finding.is_open and _is_offline(check.context)
            answers.standing[name] = Standing.UNKNOWN if is_open else standing
            answers.spoken.append((finding.status, finding.message, image))

    def _find(self, check: _Check, block: ImageBlock, image: Image) -> Finding:
        """Return the finding about the attestors and attestations of an entry."""
        name, verifier = image.reference, check.verifier
        check.context.add(("image",), {**_NO_PARTS, **image.parts})
        if not block.speaks_of(name) or block.skips(name):
            text = (
                f"skipping image reference image {name}, policy {self.policy.name} "
                f"ruleName {self.rule.name}"
            )
            return Finding(Status.SKIP, text)
        signed = check_attestors(block.attestors, verifier, name) if block.attestors else None
        if signed is not None and (signed.status is not Status.PASS or not block.attestations):
            return signed
        digest = "" if signed is None else signed.digest
        validations = [entry.validation for entry in check.blocks if entry.validation is not None]
        attested = AttestationCheck(check.context, verifier, image, image.digest or digest)
        return attested.run(block, self.rule.name, validations)

    def _is_unchanged(self, request: Request, image: Image) -> bool:
        """Report whether an update leaves an image as it was when it was verified."""
        if request.old is None:
            return False
        now, before = (pointed_at(obj.body, image.path) for obj in (request.resource, request.old))
        if now is None or now != before:
            return False
        try:
            standing = self._recorded(request.old.body, image.reference)
        except EvaluationError:
            return False
        return standing in (Standing.PASSED, Standing.SKIPPED)

    @property
    def _key(self) -> str:
        return f"{self.policy.namespace}/{self.policy.name}"

    def _recorded(self, body: Body, image: str) -> Standing | None:
        status = recorded_status(body, self._key, self.rule.name, image)
        return next((standing for standing in _KNOWN if standing == status), None)

    def _matching(self, budget: Budget, request: Request) -> Sequence[Image]:
        """Return the matching images: one that several entries match is repeated, as in Kyverno."""
        images = self._images(request)
        budget.spend(len(self.blocks) * len(images), _COMPARED)
        return [
            image for image in images for block in self.blocks if block.speaks_of(image.reference)
        ]

    def _images(self, request: Request) -> Sequence[Image]:
        resource = request.resource
        if request.before_digests is not None and not self.rule.body.get("imageExtractors"):
            resource = request.before_digests
        with Reraise("failed to instantiate handler: failed to extract images: ", EvaluationError):
            return images_in(self.extract(resource.body))

    def _answer(self, status: Status, message: str, image: Image | None = None) -> RuleResult:
        """Return a result; image: its image."""
        is_open = status in (Status.FAIL, Status.ERROR)
        fields = (pointer_of(*image.path),) if image is not None and is_open else ()
        rule = self.rule
        return RuleResult(
            self.policy.key, rule.name, rule.kind.type, status, message, fields=fields
        )


@dataclass(frozen=True, slots=True)
class ImageRule(CompiledRule):
    """A verifyImages rule for one kind of object, in one of its two passes."""

    images: ImagesHandler

    def _run(self, base: Context, request: Request, facts: Facts) -> RuleResult | None:
        # An object with no image of the rule is passed over before context and preconditions.
        if not self.images.concerns(request):
            return None
        if self.rule.body.get("imageExtractors"):
            base = self.images.shown(base, request)
        return CompiledRule._run(self, base, request, facts)


def compile_verify_images(rule: Rule, policy: Policy) -> ImagesHandler:
    """The handler of a verifyImages rule; raises what compiling conditions raises."""
    template = compile_template(
        [_without_conditions(body) for body in rule.verify_images], "/verifyImages"
    )
    extract = compile_extractors(rule.body.get("imageExtractors") or {})
    return ImagesHandler(rule, policy, read_blocks(rule.verify_images), template, extract)


def _is_offline(context: Context) -> bool:
    return context.world.signatures is UNASKED


def _without_conditions(body: Body) -> Body:
    """Remove the conditions: their variables refer to attested data, which is not available yet."""
    kept = dict(body)
    if body.get("attestations"):
        kept["attestations"] = [{**entry, "conditions": None} for entry in body["attestations"]]
    if body.get("validate"):
        kept["validate"] = {**body["validate"], "deny": None}
    return kept


def _with_conditions(body: Body, written: Body) -> Body:
    """Return an entry whose variables were replaced, with the conditions as written."""
    kept = dict(body)
    if written.get("attestations"):
        pairs = zip(body["attestations"], written["attestations"], strict=True)
        kept["attestations"] = [
            {**attestation, "conditions": before.get("conditions")} for attestation, before in pairs
        ]
    if written.get("validate"):
        kept["validate"] = {**body["validate"], "deny": written["validate"].get("deny")}
    return kept
