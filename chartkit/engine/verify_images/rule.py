"""A verifyImages rule: what it says of signatures and digests, and what of images as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final

from chartkit.engine.compiled_rule import CompiledRule
from chartkit.engine.context import Context
from chartkit.engine.match import Facts
from chartkit.engine.policy import Policy, Rule
from chartkit.engine.request import Operation, Request
from chartkit.engine.variables import Template, compile_template
from chartkit.engine.verify_images.blocks import ImageBlock, check_blocks, read_block
from chartkit.engine.verify_images.extract import Extract, Image, compile_extractors, images_in
from chartkit.engine.verify_images.recorded import recorded_status
from chartkit.errors import ChartkitError, EvaluationError, LookupFailed
from chartkit.model import Body, Json, RuleResult, Status

_UNVERIFIED: Final = "the signature could not be verified: signatures are not evaluated yet"
_NO_DIGEST: Final = "failed to update digest"


class SubstitutionFailed(EvaluationError):  # noqa: N818 - says what happened
    """Variables of an entry that cannot be resolved: nothing is verified then."""


class Standing(Enum):
    """What is known of an image before it is validated; UNKNOWN: its signature decides."""

    PASSED = auto()
    SKIPPED = auto()
    FAILED = auto()
    UNKNOWN = auto()


_RECORDED: Final = {"pass": Standing.PASSED, "skip": Standing.SKIPPED, "fail": Standing.FAILED}


@dataclass(slots=True)
class _Answers:
    """What the first of the two passes found: its answers, where each image stands, and the
    digests to add, by the keys that lead to an image."""

    spoken: list[tuple[Status, str]]
    standing: dict[str, Standing]
    pinned: dict[tuple[str, ...], str] = field(default_factory=dict)


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
        """Whether any entry asks something of the images as they are."""
        return any(block.verifies_digest or block.required for block in self.blocks)

    def concerns(self, request: Request) -> bool:
        """Whether the rule names any image of the object, or cannot tell."""
        if request.operation is Operation.DELETE:
            return False
        try:
            return bool(self._matching(request))
        except ChartkitError:
            return True

    def shown(self, base: Context, request: Request) -> Context:
        """A context in which expressions see the images that the rule's extractors find."""
        try:
            found = self.extract(request.resource.body)
        except EvaluationError:
            return base
        context = base.child()
        context.add(("images",), dict(found))
        return context

    def __call__(self, context: Context, request: Request) -> RuleResult | None:
        """Says what is wrong with signatures and digests; None where nothing is asked of them."""
        found = self._verify(context, request)
        results = [self._answer(*one) for one in found.spoken]
        if not results:
            return None
        patched = _pinned(request.resource.body, found.pinned) if found.pinned else None
        return replace(results[0], others=tuple(results[1:]), patched=patched)

    def validate(self, context: Context, request: Request) -> RuleResult | None:
        """Judges the images as they are; None where that takes a signature."""
        is_open = False
        try:
            standing: Mapping[str, Standing] = self._verify(context, request).standing
        except SubstitutionFailed:
            standing, is_open = {}, any(block.is_signed for block in self.blocks)
        found: list[tuple[Standing | None, str]] = []
        for block in self.blocks:
            for image in self._images(request):
                if not block.speaks_of(image.reference):
                    continue
                try:
                    now = self._stand(block, image, standing, request.resource.body)
                except EvaluationError as error:
                    return self._answer(Status.FAIL, error.message)
                found.append((now, image.reference))
        if is_open or any(now is Standing.UNKNOWN for now, _ in found):
            return None
        return self._judged(found)

    def _stand(
        self, block: ImageBlock, image: Image, standing: Mapping[str, Standing], body: Body
    ) -> Standing | None:
        """Where an image stands; None: nothing is asked. Raises EvaluationError with its fault."""
        found = standing.get(image.reference)
        is_open = found is Standing.UNKNOWN
        if block.verifies_digest and not image.digest and not (is_open and block.mutates_digest):
            raise EvaluationError(f"missing digest for {image.reference}")
        if is_open:
            return found
        if not block.required:
            return None
        if found is None:
            found = self._recorded(body, image.reference)
        if found is Standing.FAILED:
            raise EvaluationError(f"unverified image {image.reference}")
        return found

    def _judged(self, found: Sequence[tuple[Standing | None, str]]) -> RuleResult:
        skipped = [image for now, image in found if now is Standing.SKIPPED]
        if not skipped:
            return self._answer(Status.PASS, "image verified")
        if any(now is Standing.PASSED for now, _ in found):
            text = " ".join(["image verified, skipped images:", *skipped])
            return self._answer(Status.PASS, text)
        return self._answer(Status.SKIP, " ".join(["image skipped, skipped images:", *skipped]))

    def _verify(self, context: Context, request: Request) -> _Answers:
        answers = _Answers([], {})
        images = self._matching(request)
        for block in self._substituted(context):
            for image in images:
                if self._is_unchanged(request, image):
                    answers.standing[image.reference] = Standing.PASSED
                    continue
                if block.mutates_digest and not image.digest:
                    self._pin(block, image, context, answers)
                if block.is_signed:
                    self._verify_image(block, image.reference, answers)
        return answers

    def _pin(self, block: ImageBlock, image: Image, context: Context, answers: _Answers) -> None:
        """Finds the digest of an image that is named without one."""
        try:
            digest = context.lookups.image_digest(image.reference)
        except LookupFailed as error:
            answers.spoken.append((Status.ERROR, f"{_NO_DIGEST}: {error.message}"))
            return
        answers.pinned[image.path] = f"{image.reference}@{digest}"
        if not block.is_signed:
            answers.spoken.append((Status.PASS, "mutated image digest"))

    def _verify_image(self, block: ImageBlock, image: str, answers: _Answers) -> None:
        if not block.speaks_of(image) or block.skips(image):
            text = (
                f"skipping image reference image {image}, policy {self.policy.name} "
                f"ruleName {self.rule.name}"
            )
            answers.spoken.append((Status.SKIP, text))
            answers.standing[image] = Standing.SKIPPED
        elif block.untyped:
            answers.spoken.append((Status.FAIL, ".attestations[0]: missing type"))
            answers.standing[image] = Standing.FAILED
        else:
            text = f"failed to verify image {image}: {_UNVERIFIED}"
            answers.spoken.append((Status.ERROR, text))
            answers.standing[image] = Standing.UNKNOWN

    def _is_unchanged(self, request: Request, image: Image) -> bool:
        """Whether an update leaves an image as it was when it was verified."""
        if request.old is None:
            return False
        now, before = (_at(one.body, image.path) for one in (request.resource, request.old))
        if now is None or now != before:
            return False
        try:
            found = self._recorded(request.old.body, image.reference)
        except EvaluationError:
            return False
        return found in (Standing.PASSED, Standing.SKIPPED)

    def _recorded(self, body: Body, image: str) -> Standing | None:
        policy = f"{self.policy.namespace}/{self.policy.name}"
        return _RECORDED.get(recorded_status(body, policy, self.rule.name, image))

    def _substituted(self, context: Context) -> Sequence[ImageBlock]:
        if self.template.is_constant:
            return self.blocks
        try:
            bodies = self.template.resolve(context)
        except ChartkitError as error:
            raise SubstitutionFailed(f"failed to substitute variables: {error.message}") from error
        check_blocks(bodies, self.rule.location)
        return [read_block(body) for body in bodies]

    def _matching(self, request: Request) -> Sequence[Image]:
        """An image stands there once for each entry that names it, as Kyverno has it."""
        return [
            image
            for image in self._images(request)
            for block in self.blocks
            if block.speaks_of(image.reference)
        ]

    def _images(self, request: Request) -> Sequence[Image]:
        try:
            return images_in(self.extract(request.resource.body))
        except EvaluationError as error:
            raise EvaluationError(
                f"failed to instantiate handler: failed to extract images: {error.message}"
            ) from error

    def _answer(self, status: Status, message: str) -> RuleResult:
        return RuleResult(self.policy.key, self.rule.name, self.rule.kind.type, status, message)


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
    """The handler of a verifyImages rule; raises CompileError for entries of wrong types."""
    check_blocks(rule.verify_images, rule.location)
    blocks = tuple(map(read_block, rule.verify_images))
    template = compile_template(
        [_without_conditions(body) for body in rule.verify_images], "/verifyImages"
    )
    extract = compile_extractors(rule.body.get("imageExtractors") or {})
    return ImagesHandler(rule, policy, blocks, template, extract)


def _without_conditions(body: Body) -> Body:
    """Their variables name what a signature attests, which is not known here."""
    attestations = [
        {key: value for key, value in one.items() if key != "conditions"}
        for one in body.get("attestations") or ()
    ]
    kept = {key: value for key, value in body.items() if key != "validate"}
    return {**kept, "attestations": attestations} if attestations else kept


def _pinned(body: Body, pinned: Mapping[tuple[str, ...], str]) -> Body:
    """An object whose images at these places are named with their digests."""
    for path, image in pinned.items():
        body = _with(body, path, image)
    return body


def _with(value: Json, path: Sequence[str], image: str) -> Json:
    if not path:
        return image
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        index = int(step)
        return [*value[:index], _with(value[index], rest, image), *value[index + 1 :]]
    return {**value, step: _with(value[step], rest, image)}


def _at(value: Json, path: Sequence[str]) -> Json:
    for step in path:
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value
