"""ImageValidatingPolicy: which images an object names, and what must hold of them.

Signatures and attestations need a registry: an expression that asks for one is an error offline,
and an image that is required to be verified and was not is a failure, as in a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.library.natives import no_conversion
from chartkit.engine.cel.program.program import Program
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.autogen import CONTROLLERS, rewriter
from chartkit.engine.cel_policies.conditions import holds
from chartkit.engine.cel_policies.exceptions import RULE, CelException
from chartkit.engine.cel_policies.expressions import ExpressionCompiler
from chartkit.engine.cel_policies.globs import GlobError, compile_glob
from chartkit.engine.cel_policies.judging import EVALUATION, Admission, Judge, audit_annotations
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Deferred, PolicyScope, Variables
from chartkit.engine.cel_policies.validating import failure_message
from chartkit.engine.values.image_reference import ImageReferenceError
from chartkit.engine.values.registry_reference import parse_reference
from chartkit.model import Body, Json, RuleResult, RuleType, Status

_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_EXTRACTED: Final = (types.LIST_STRING, types.DYN, types.LIST_DYN)
_REFERENCES: Final = "spec.matchImageReferences"

Fits = Callable[[str], bool]
"""Whether a reference is one of those that a policy is about; raises CelError."""


class ImageValidatingJudge(Judge):
    """A compiled ImageValidatingPolicy."""

    __slots__ = (
        "_annotations",
        "_attestations",
        "_attestors",
        "_compiler",
        "_conditions",
        "_exceptions",
        "_extractors",
        "_own_extractors",
        "_references",
        "_required",
        "_validations",
        "_variables",
        "_verifies_digest",
    )

    type = RuleType.IMAGE_VERIFY

    def __init__(
        self, policy: CelPolicy, environment: Environment, exceptions: Sequence[CelException]
    ) -> None:
        """Raises CompileError where an expression or a glob does not compile."""
        super().__init__(policy)
        spec = policy.spec
        compiler = self._compiler = ExpressionCompiler(policy, environment)
        self._conditions = compiler.conditions(policy.conditions)
        self._references = _compile_references(policy, compiler)
        self._own_extractors = _compile_extractors(policy, compiler)
        self._variables = compiler.variables(policy.variables)
        self._attestors = {
            body["name"]: _compile_attestor(body, f"spec.attestors[{index}]", compiler)
            for index, body in enumerate(spec.get("attestors") or ())
        }
        compiler.check()
        self._validations = compiler.validations(policy.validations)
        self._annotations = compiler.audit_annotations(policy.annotations_made)
        self._exceptions = [(one, compiler.conditions(one.conditions)) for one in exceptions]
        self._attestations = {one["name"]: one["name"] for one in spec.get("attestations") or ()}
        settings: Body = spec.get("validationConfigurations") or {}
        self._verifies_digest = settings.get("verifyDigest") is not False
        self._required = settings.get("required") is not False
        self._extractors: dict[str, Mapping[str, Program]] = {}

    def judge(self, admission: Admission) -> RuleResult | None:
        """The policy's one result; nothing where a match condition does not hold."""
        policy, host = self.policy, self.host(admission)
        scope = PolicyScope(admission.scope)
        try:
            if not holds(self._conditions, scope, host, policy.ignores_errors):
                return None
            excepted = self._excepted(scope, host)
            if excepted is not None:
                return excepted
            scope["variables"] = Variables(self._variables, scope, host)
            images = self._images(admission, scope, host)
            matched = [image for found in images.values() for image in found]
            bare = _without_digest(matched) if self._verifies_digest else None
            if bare is not None:
                return self._said(Status.FAIL, f"image {bare} does not have a digest")
            scope["images"] = images
            scope["attestations"] = self._attestations
            scope["attestors"] = _Attestors(self._attestors, scope, host)
            return self._validate(scope, host, matched)
        except CelError as error:
            text = f"failed to evaluate policy: {error.message}"
            return self.result(Status.ERROR, text, EVALUATION)

    def _excepted(self, scope: PolicyScope, host: Host) -> RuleResult | None:
        ignores = self.policy.ignores_errors
        applying = [
            one for one, programs in self._exceptions if holds(programs, scope, host, ignores)
        ]
        if not applying:
            return None
        keys = ", ".join(one.key for one in applying)
        names = ",".join(one.name for one in applying)
        text = f"rule is skipped due to policy exception: {keys}"
        return self.result(Status.SKIP, text, RULE, {"exceptions": names})

    def _images(self, admission: Admission, scope: PolicyScope, host: Host) -> dict[str, list[str]]:
        """The references that the policy is about, by the list that they stand in."""
        found: dict[str, list[str]] = {}
        for name, program in self._extractors_for(admission).items():
            images = _texts(program.evaluate(scope, host))
            found[name] = [image for image in images if self._is_about(image)]
        return found

    def _is_about(self, image: str) -> bool:
        return not self._references or any(fits(image) for fits in self._references)

    def _extractors_for(self, admission: Admission) -> Mapping[str, Program]:
        """What finds images in an object of the request's kind, and what the policy adds."""
        attributes = admission.attributes
        template = None if self.policy.json else _template(attributes.group, attributes.resource)
        key = template if template is not None else "-"
        known = self._extractors.get(key)
        if known is None:
            builtin = {} if template is None else _builtin(self._compiler, template)
            known = self._extractors[key] = {**builtin, **self._own_extractors}
        return known

    def _validate(self, scope: PolicyScope, host: Host, images: Sequence[str]) -> RuleResult:
        for index, each in enumerate(self._validations):
            if each.program.evaluate(scope, host) is not False:
                continue
            message = failure_message(each, index, scope, host)
            made = audit_annotations(self._annotations, scope, host)
            return self._said(Status.FAIL, message, made)
        made = audit_annotations(self._annotations, scope, host)
        if self._required and images:
            text = "no policy performed a signature or attestation check on it"
            return self._said(Status.FAIL, f"image {images[0]} is not verified: {text}", made)
        return self._said(Status.PASS, "success", made)

    def _said(
        self, status: Status, message: str, properties: Mapping[str, str] | None = None
    ) -> RuleResult:
        return self.result(status, message, self.policy.name, properties)


def _texts(value: Value) -> list[str]:
    """The references that an extractor gives; raises CelError for what is no list of texts."""
    if not isinstance(value, list):
        raise no_conversion(value, "[]string")
    for member in value:
        if not isinstance(member, str):
            raise no_conversion(member, "string")
    return value


def _without_digest(images: Sequence[str]) -> str | None:
    """The first image that is named without a digest; raises CelError for one that is no
    reference."""
    for image in images:
        try:
            if not parse_reference(image).digest:
                return image
        except ImageReferenceError as error:
            raise CelError(f"failed to parse image reference {image}: {error}") from error
    return None


class _Attestors(Deferred):
    """The policy's attestors by name, with the texts that their expressions give."""

    __slots__ = ("_compiled", "_host", "_scope")

    def __init__(
        self, compiled: Mapping[str, Json], scope: Mapping[str, Value], host: Host
    ) -> None:
        super().__init__(compiled)
        self._compiled, self._scope, self._host = compiled, scope, host

    def compute(self, name: str) -> Value:
        """An attestor; raises CelError."""
        return self._resolved(self._compiled[name])

    def _resolved(self, value: Json) -> Json:
        if isinstance(value, Program):
            return {"value": value.evaluate(self._scope, self._host)}
        if isinstance(value, dict):
            return {key: self._resolved(member) for key, member in value.items()}
        return [self._resolved(one) for one in value] if isinstance(value, list) else value


def _compile_attestor(value: Json, path: str, compiler: ExpressionCompiler) -> Json:
    """An attestor whose texts that are expressions became programs."""
    if isinstance(value, dict):
        text = value.get("expression")
        if isinstance(text, str) and text and len(value) == 1:
            return compiler.one(f"{path}.expression", text, (types.STRING,))
        return {
            key: _compile_attestor(member, f"{path}.{key}", compiler)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [
            _compile_attestor(member, f"{path}[{index}]", compiler)
            for index, member in enumerate(value)
        ]
    return value


def _compile_references(policy: CelPolicy, compiler: ExpressionCompiler) -> tuple[Fits, ...]:
    found: list[Fits] = []
    matching = ExpressionCompiler(policy, ENVIRONMENTS["matchimage"])
    for index, body in enumerate(policy.spec.get("matchImageReferences") or ()):
        path = f"{_REFERENCES}[{index}]"
        if body.get("glob"):
            try:
                found.append(compile_glob(body["glob"]))
            except GlobError as error:
                compiler.refuse(f"{path}.glob", body["glob"], str(error))
        elif body.get("expression"):
            program = matching.one(f"{path}.expression", body["expression"], (types.BOOL,))
            if program is not None:
                found.append(_fits(program))
    matching.check()
    compiler.check()
    return tuple(found)


def _fits(program: Program) -> Fits:
    return lambda image: program.evaluate({"ref": image}, OFFLINE) is True


def _compile_extractors(policy: CelPolicy, compiler: ExpressionCompiler) -> dict[str, Program]:
    found: dict[str, Program] = {}
    for index, body in enumerate(policy.spec.get("images") or ()):
        path, text = f"spec.images[{index}].expression", body["expression"]
        program = compiler.one(path, text)
        if program is None:
            continue
        if program.output_type not in _EXTRACTED:
            compiler.refuse(path, text, "output is expected to be of type list")
        found[body["name"]] = program
    compiler.check()
    return found


def _template(group: str, resource: str) -> str | None:
    """Where a kind has the Pods that it makes; empty for Pods, None for kinds without any."""
    if (group, resource) == ("", "pods"):
        return ""
    controller = CONTROLLERS.get(resource)
    if controller is None or controller.group != group:
        return None
    return controller.template


def _builtin(compiler: ExpressionCompiler, template: str) -> dict[str, Program]:
    rewrite = rewriter(template) if template else str
    found: dict[str, Program] = {}
    for name in _LISTS:
        spec = rewrite("object.spec").removeprefix("object")
        text = f"(object != null ? object : oldObject){spec}.?{name}.orValue([]).map(e, e.image)"
        program = compiler.one("spec.images", text)
        if program is not None:
            found[name] = program
    return found
