"""ImageValidatingPolicy: which images an object names, and what must hold of them.

Signatures and attestations are asked of `World.signatures`; without a verifier, an expression that
needs one is an error. An image that is required to be verified and was not is a failure once all
policies of a request have been evaluated, for another one may have verified it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.printing import no_conversion
from chartkit.engine.cel.tracing.calls import RepeatHost, Unrepeatable
from chartkit.engine.cel.tracing.datum import UNKNOWN, Datum, Extent, elements, listed, unknown
from chartkit.engine.cel.tracing.junctions import pointers
from chartkit.engine.cel.tracing.planner import traced
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.attestors import (
    Attestors,
    Claim,
    call_of,
    compile_attestors,
)
from chartkit.engine.cel_policies.autogen import CONTROLLERS, rewriter
from chartkit.engine.cel_policies.evaluator import (
    EVALUATION,
    Admission,
    Evaluator,
    audit_annotations,
)
from chartkit.engine.cel_policies.exceptions import RULE, CelException, Exceptions
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, holds
from chartkit.engine.cel_policies.fields import Matching, Roots, fields_of
from chartkit.engine.cel_policies.image_host import Fits, ImageHost, compile_references
from chartkit.engine.cel_policies.kinds.validating import failure_message
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import PolicyScope, Variables
from chartkit.engine.request import Phase
from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_reference
from chartkit.errors import LookupFailed, NoSource
from chartkit.model import Body, RuleResult, RuleType, Status


class RepeatImageHost(RepeatHost):
    """A host that knows the signatures and attestations which an `ImageHost` has verified."""

    def __init__(self, host: ImageHost) -> None:
        super().__init__(host)
        self._images = host

    def verify_image(
        self, image: str, attestation: str | None, attestors: Sequence[Value], /
    ) -> int:
        self.asked = True
        count = self._images.counted(image, attestation, attestors)
        if count is None:
            raise Unrepeatable
        return count

    def image_payload(self, image: str, attestation: str, /) -> Value:
        self.asked = True
        if not self._images.has_payload(image, attestation):
            raise Unrepeatable
        return self._images.image_payload(image, attestation)


class ImageFields:
    """The fields of the images that a policy is about, each list traced when it is asked for."""

    def __init__(
        self,
        extractors: Mapping[str, Program],
        fits: Fits,
        scope: Mapping[str, Value],
        variables: Mapping[str, Program],
        host: ImageHost,
    ) -> None:
        """extractors: the programs that find images, by name; fits: whether the policy is about
        one."""
        self._extractors = extractors
        self._fits = fits
        self._host = RepeatImageHost(host)
        self._roots = Roots(scope, variables, self._host)

    def variable(self, images: Value) -> Datum:
        """Return the value of `images` with its provenance."""
        return Datum(images, members=self._found())

    def _found(self) -> dict[str, Datum]:
        return {name: self._listed(program) for name, program in self._extractors.items()}

    def _listed(self, program: Program) -> Datum:
        try:
            images = traced(program, self._roots, self._host)
        except (CelError, RecursionError):
            return Datum(UNKNOWN)
        if not isinstance(images.value, list):
            return unknown(images)
        members = [element for element in elements(images) if self._fits(str(element.value))]
        return listed(members, Extent((), images))

    def of(self, image: str) -> tuple[str, ...]:
        """Return the JSON pointers of the fields that name an image."""
        listed = [datum.members for datum in self._found().values()]
        members = [member for group in listed if isinstance(group, list) for member in group]
        return pointers(tuple(item for item in members if item.value == image), self._roots.judged)


_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_EXTRACTED: Final = (types.LIST_STRING, types.DYN, types.LIST_DYN)
_REASONS: Final = "verification"
"""The property of a result that says why attestors did not vouch for images."""


class ImageValidatingEvaluator(Evaluator):
    """A compiled ImageValidatingPolicy."""

    type = RuleType.IMAGE_VERIFY
    phase = Phase.VALIDATE

    def __init__(self, policy: CelPolicy, exceptions: Sequence[CelException]) -> None:
        """Raises CompileError where an expression or a glob does not compile."""
        super().__init__(policy)
        spec = policy.spec
        compiler = self._compiler = ExpressionCompiler(policy)
        self._conditions = compiler.conditions(policy.conditions)
        self._fits = compile_references(policy, compiler)
        extractors: dict[str, Program] = {}
        for index, extractor_body in enumerate(policy.spec.get("images") or ()):
            path, text = f"spec.images[{index}].expression", extractor_body["expression"]
            program = compiler.one(path, text)
            if program is None:
                continue
            if program.output_type not in _EXTRACTED:
                compiler.refuse(path, text, "output is expected to be of type list")
            extractors[extractor_body["name"]] = program
        compiler.check()
        self._own_extractors = extractors
        self._variables = compiler.variables(policy.variables)
        self._attestors = compile_attestors(spec.get("attestors") or (), compiler)
        compiler.check()
        self._validations = compiler.validations(policy.validations)
        self._annotations = compiler.audit_annotations(policy.annotations_made)
        self._exceptions = Exceptions(exceptions, compiler)
        self._attestations = {body["name"]: body["name"] for body in spec.get("attestations") or ()}
        settings: Body = spec.get("validationConfigurations") or {}
        self._verifies_digest = settings.get("verifyDigest") is not False
        self._required = settings.get("required") is not False
        self._extractors: dict[str, Mapping[str, Program]] = {}
        self._call = call_of(policy)

    def host(self, admission: Admission) -> ImageHost:
        """Return the host of the policy's expressions for one request."""
        evidence = admission.evidence.of(self._call)
        return ImageHost(self.policy, admission.world, self._fits, evidence)

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """The policy's one result; nothing where a match condition does not hold."""
        policy, host = self.policy, self.host(admission)
        scope = PolicyScope(admission.scope)
        try:
            if not holds(self._conditions, scope, host, policy.ignores_errors):
                return None
            allowed = self._exceptions.ask(scope, host, policy.ignores_errors)
            if allowed.full:
                # One for some images or values has no effect: expressions cannot ask for it.
                applying = [exception for exception in allowed.full if exception.is_full]
                keys = ", ".join(exception.key for exception in applying)
                names = ",".join(exception.name for exception in applying)
                text = f"rule is skipped due to policy exception: {keys}"
                return self.result(Status.SKIP, text, RULE, {"exceptions": names})
            scope["variables"] = Variables(self._variables, scope, host)
            # The result for an object's images; CelError for extractors that find none.
            images = self._images(admission, scope, host)
            matched = [image for references in images.values() for image in references]

            def fields(image: str) -> tuple[str, ...]:
                """Return the JSON pointers of the fields that name an image."""
                return self._traced_images(admission, scope, host).of(image)

            try:
                bare = _without_digest(matched) if self._verifies_digest else None
                if bare is not None:
                    text = f"image {bare} does not have a digest"
                    return self._said(Status.FAIL, text, fields=fields(bare))
                _fetch(matched, host)
            except _ImageError as error:
                return self._error(error, host, fields(error.image))
            scope["images"] = images
            scope["attestations"] = self._attestations
            scope["attestors"] = Attestors(self._attestors, scope, host)
            result = self._validate(admission, scope, host)
            if self._required and result.status is Status.PASS:
                claim = Claim(tuple(matched), _reasons(host), fields)
                host.evidence.required[self.policy.id] = claim
            return result
        except CelError as error:
            return self._error(error, host)

    def _error(self, error: CelError, host: ImageHost, fields: tuple[str, ...] = ()) -> RuleResult:
        text = f"failed to evaluate policy: {error.message}"
        return self.result(Status.ERROR, text, EVALUATION, _reasons(host), fields)

    def _images(self, admission: Admission, scope: PolicyScope, host: Host) -> dict[str, list[str]]:
        """The references that the policy is about, by the list that contains them."""
        by_name: dict[str, list[str]] = {}
        for name, program in self._extractors_for(admission).items():
            # The references that an extractor gives; raises CelError for what is not a list of
            # texts.
            value = program.evaluate(scope, host)
            if not isinstance(value, list):
                raise no_conversion(value, "[]string")
            for member in value:
                if not isinstance(member, str):
                    raise no_conversion(member, "string")
            by_name[name] = [image for image in value if self._fits(image)]
        return by_name

    def _extractors_for(self, admission: Admission) -> Mapping[str, Program]:
        """The extractors of images for the request's kind, and the policy's own."""
        attributes = admission.attributes
        template = None if self.policy.json else _template(attributes.group, attributes.resource)
        key = template if template is not None else "-"
        extractors = self._extractors.get(key)
        if extractors is None:
            builtin = {} if template is None else _builtin(self._compiler, template)
            extractors = self._extractors[key] = {**builtin, **self._own_extractors}
        return extractors

    def _validate(self, admission: Admission, scope: PolicyScope, host: ImageHost) -> RuleResult:
        for index, validation in enumerate(self._validations):
            try:
                if validation.program.evaluate(scope, host) is not False:
                    continue
            except CelError as error:
                fields = self._fields_of(validation.program, admission, scope, host)
                return self._error(error, host, fields)
            message = failure_message(validation, index, scope, host)
            made = {**_reasons(host), **audit_annotations(self._annotations, scope, host)}
            fields = self._fields_of(validation.program, admission, scope, host)
            return self._said(Status.FAIL, message, made, fields)
        made = audit_annotations(self._annotations, scope, host)
        return self._said(Status.PASS, "success", made)

    def _fields_of(
        self, program: Program, admission: Admission, scope: PolicyScope, host: ImageHost
    ) -> tuple[str, ...]:
        """Return the JSON pointers of the fields over which a validation failed."""
        matching = Matching(self._conditions, self.policy.constraints)
        images = self._traced_images(admission, scope, host).variable(scope["images"])
        again = RepeatImageHost(host)
        return fields_of(program, scope, self._variables, again, matching, {"images": images})

    def _traced_images(
        self, admission: Admission, scope: PolicyScope, host: ImageHost
    ) -> ImageFields:
        extractors = self._extractors_for(admission)
        return ImageFields(extractors, self._fits, scope, self._variables, host)

    def _said(
        self,
        status: Status,
        message: str,
        properties: Mapping[str, str] | None = None,
        fields: tuple[str, ...] = (),
    ) -> RuleResult:
        return self.result(status, message, self.policy.name, properties, fields)


class _ImageError(CelError):
    """An image of the object is not a reference, or its registry does not have it."""

    def __init__(self, message: str, image: str) -> None:
        super().__init__(message)
        self.image = image


def _reasons(host: ImageHost) -> dict[str, str]:
    return {_REASONS: "; ".join(host.reasons)} if host.reasons else {}


def _fetch(images: Sequence[str], host: ImageHost) -> None:
    """Kyverno fetches all images before anything is asked of them; raises _ImageError where a
    registry has not one of them, and for one that is not a reference. Where there is no registry to
    ask, an expression that asks says so."""
    for image in images:
        try:
            host.fetch(image)
        except NoSource:
            for image in images:
                try:
                    parse_reference(image)
                except ImageReferenceError as error:
                    raise _ImageError(str(error), image) from error
            return
        except LookupFailed as error:
            raise _ImageError(error.message, image) from error


def _without_digest(images: Sequence[str]) -> str | None:
    """The first image without a digest; _ImageError for one that is no reference."""
    for image in images:
        try:
            if not parse_reference(image).digest:
                return image
        except ImageReferenceError as error:
            text = f"failed to parse image reference {image}: {error}"
            raise _ImageError(text, image) from error
    return None


def _template(group: str, resource: str) -> str | None:
    """Return the path of the Pod template of a kind; empty for Pods, None for kinds without one."""
    if (group, resource) == ("", "pods"):
        return ""
    controller = CONTROLLERS.get(resource)
    if controller is None or controller.group != group:
        return None
    return controller.template


def _builtin(compiler: ExpressionCompiler, template: str) -> dict[str, Program]:
    rewrite = rewriter(template) if template else str
    extractors: dict[str, Program] = {}
    for name in _LISTS:
        spec = rewrite("object.spec").removeprefix("object")
        text = f"(object != null ? object : oldObject){spec}.?{name}.orValue([]).map(e, e.image)"
        program = compiler.one("spec.images", text)
        if program is not None:
            extractors[name] = program
    return extractors
