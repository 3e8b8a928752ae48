"""From a CEL policy to something that runs: one compiler a kind, in an explicit table.

Policies about Pods are asked about workloads of custom kinds, too: each Pod template that is found
in one is judged as a Pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel_policies.attestors import Evidence
from chartkit.engine.cel_policies.autogen import (
    Rewrite,
    extended,
    mutations_rewritten,
    of_templates,
)
from chartkit.engine.cel_policies.evaluator import EVALUATION, Admission, Evaluator, admission
from chartkit.engine.cel_policies.exceptions import RULE as EXCEPTED
from chartkit.engine.cel_policies.exceptions import CelException, exceptions_of
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, holds
from chartkit.engine.cel_policies.image_host import ImageHost, compile_references
from chartkit.engine.cel_policies.kinds.admission import (
    compile_mutating_admission,
    compile_validating_admission,
)
from chartkit.engine.cel_policies.kinds.generating import GeneratingEvaluator
from chartkit.engine.cel_policies.kinds.image_validating import ImageValidatingEvaluator
from chartkit.engine.cel_policies.kinds.mutating import MutatingEvaluator
from chartkit.engine.cel_policies.kinds.validating import INDEX, ValidatingEvaluator
from chartkit.engine.cel_policies.policy import CelPolicy, read_cel_policy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cel_policies.scope import Attributes, PolicyScope
from chartkit.engine.context.images import extract_images, with_images
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.engine.request import Phase
from chartkit.errors import EvaluationError, LookupFailed, NoSource
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, Status, pointer_of, text_of

RULE: Final = "mutateDigest"


class DigestEvaluator(Evaluator):
    """Adds the digests that an ImageValidatingPolicy wants.

    It verifies nothing. What an expression of the policy has against a request is the validation's
    to say, which comes after it. Without a registry to ask it says nothing, as Kyverno's command
    line, and the validation judges the images as they are written.
    """

    type = RuleType.IMAGE_VERIFY
    phase = Phase.IMAGES

    def __init__(self, policy: CelPolicy, exceptions: Sequence[CelException]) -> None:
        """Raises CompileError where an expression or a glob does not compile."""
        super().__init__(policy)
        compiler = ExpressionCompiler(policy)
        self._conditions = compiler.conditions(policy.conditions)
        self._fits = compile_references(policy, compiler)
        self._exceptions = [
            compiler.conditions(item.conditions) for item in exceptions if item.is_full
        ]

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """The object with digests, or why a digest is unavailable; nothing where none is
        missing. Available digests are added even where another one is not."""
        body = admission.attributes.object
        if body is None or admission.attributes.request.is_json:
            return None
        host = ImageHost(self.policy, admission.world, self._fits, Evidence())
        try:
            ignores, scope = self.policy.ignores_errors, PolicyScope(admission.scope)
            applies = holds(self._conditions, scope, host, ignores) and not any(
                holds(programs, scope, host, ignores) for programs in self._exceptions
            )
            if not applies:
                return None
            missing: list[tuple[tuple[str, ...], str]] = []
            for members in extract_images(body).values():
                for member in members.values():
                    image: str = member["reference"]
                    if not member.get("digest") and self._fits(image):
                        missing.append((tuple(member["jsonPointer"].split("/")[1:]), image))
        except (CelError, EvaluationError):
            return None
        pinned: dict[tuple[str, ...], str] = {}
        problems: dict[tuple[str, ...], str] = {}
        for path, image in missing:
            try:
                # The digest in what a registry says; raises NoSource where a user's own answer has
                # none.
                digest_image = host.fetch(image)
                digest: Json = digest_image.get("digest")
                if not isinstance(digest, str) or not digest:
                    raise NoSource("the answer has no digest")
                pinned[path] = f"{image}@{digest}"
            except NoSource:
                continue
            except LookupFailed as error:
                problems[path] = f"failed to resolve digest for image {image}: {error.message}"
        if not pinned and not problems:
            return None
        if problems:
            text = f"failed to update digest: {'; '.join(problems.values())}"
            fields = tuple("/".join(("", *path)) for path in problems)
            result = self.result(Status.ERROR, text, RULE, fields=fields)
        else:
            result = self.result(Status.PASS, "mutated image digest", RULE)
        return replace(result, patched=with_images(body, pinned)) if pinned else result


_Exceptions = tuple[CelException, ...]
_Evaluators = tuple[Evaluator, ...]
_Binder = Callable[[CelPolicy, Sequence[Resource]], _Evaluators]


class _Kind(NamedTuple):
    """A kind of Kyverno's; rewrite: for pod controllers, None as `extended` does it."""

    phase: Phase
    evaluator: Callable[[CelPolicy, _Exceptions], Evaluator]
    rewrite: Rewrite | None = None

    def compiled(self, policy: CelPolicy, exceptions: _Exceptions) -> _Evaluators:
        """The evaluators of the policy, of its forms for pod controllers and custom kinds."""
        if policy.kind is CelKind.GENERATING:
            return (self.evaluator(policy, exceptions),)
        forms = (policy, *extended(policy, self.rewrite))
        evaluators = [self.evaluator(form, exceptions) for form in forms]
        form_of_templates = of_templates(policy)
        if form_of_templates is not None:
            evaluators.append(TemplateEvaluator(form_of_templates, evaluators[0]))
        settings = policy.spec.get("validationConfigurations") or {}
        adds_digests = not policy.json and settings.get("mutateDigest") is not False
        if policy.kind is CelKind.IMAGE_VALIDATING and adds_digests:
            evaluators += [DigestEvaluator(form, exceptions) for form in forms]
        return tuple(evaluators)


_KINDS: Final[dict[CelKind, _Kind]] = {
    CelKind.VALIDATING: _Kind(Phase.VALIDATE, ValidatingEvaluator),
    CelKind.MUTATING: _Kind(Phase.MUTATE, MutatingEvaluator, mutations_rewritten),
    CelKind.IMAGE_VALIDATING: _Kind(Phase.VALIDATE, ImageValidatingEvaluator),
    CelKind.GENERATING: _Kind(Phase.GENERATE, GeneratingEvaluator),
}
_BOUND: Final[dict[CelKind, tuple[Phase, _Binder]]] = {
    CelKind.MUTATING_ADMISSION: (Phase.MUTATE, compile_mutating_admission),
    CelKind.VALIDATING_ADMISSION: (Phase.VALIDATE, compile_validating_admission),
}
"""Those of Kubernetes' own kinds; their compilers take the bindings of any policy."""


def compile_cel_policy(
    resource: Resource,
    exceptions: Sequence[CelException] = (),
    bindings: Sequence[Resource] = (),
    allows_http: bool = False,
) -> CompiledCelPolicy:
    """Compiles a policy whose rules are CEL, with the exceptions and bindings there are.

    allows_http: whether policies of a namespace may call services.

    Raises CompileError with every diagnostic where its definition does not take it or an
    expression does not compile.
    """
    policy = replace(read_cel_policy(resource), allows_http=allows_http)
    excepting: _Exceptions = ()
    if policy.kind in _BOUND:
        phase, bound = _BOUND[policy.kind]
        evaluators = bound(policy, bindings)
    else:
        kind, excepting = _KINDS[policy.kind], exceptions_of(policy, exceptions)
        phase, evaluators = kind.phase, kind.compiled(policy, excepting)
    phases = frozenset(phase if item.phase is None else item.phase for item in evaluators)
    scored = policy.annotations.get("policies.kyverno.io/scored") != "false"
    return CompiledCelPolicy(policy, phases or frozenset({phase}), evaluators, scored, excepting)


_NO_MUTATION: Final = "extraction mode: mutation for custom workload CRDs is not yet supported"


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A Pod template in an object; keys: its place, below the object."""

    keys: tuple[str | int, ...]
    body: Body

    @property
    def path(self) -> str:
        """Its place as messages name it."""
        first, *rest = self.keys
        steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in rest)
        return f"{first}{''.join(steps)}"

    def pod(self, workload: Body) -> Body:
        """Return the Pod of the template, with name and namespace of the workload if it has
        none of its own."""
        metadata = dict(self.body.get("metadata") or {})
        own = Resource(workload)
        for key, text in (("name", own.name), ("namespace", own.namespace)):
            if not text_of(metadata.get(key)):
                metadata[key] = text
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.body["spec"]}


def pod_templates(workload: Body) -> Iterator[PodTemplate]:
    """Find what looks like a Pod template in an object's `spec`, in the order of its text."""
    spec = workload.get("spec")
    return _below(("spec",), spec) if isinstance(spec, dict) else iter(())


def _below(keys: tuple[str | int, ...], node: Json) -> Iterator[PodTemplate]:
    if isinstance(node, dict):
        spec = node.get("spec")
        containers = spec.get("containers") if isinstance(spec, dict) else None
        is_template = (
            isinstance(node.get("metadata", {}), dict)
            and isinstance(containers, list)
            and bool(containers)
            and all(
                isinstance(container, dict)
                and text_of(container.get("name"))
                and isinstance(container.get("image"), str)
                for container in containers
            )
        )
        if is_template:
            yield PodTemplate(keys, node)
            return
        for key, member in node.items():
            yield from _below((*keys, key), member)
    elif isinstance(node, list):
        for index, member in enumerate(node):
            yield from _below((*keys, index), member)


class TemplateEvaluator(Evaluator):
    """A policy's form for workloads of custom kinds.

    pods: the policy itself, which judges a Pod.
    """

    def __init__(self, policy: CelPolicy, pods: Evaluator) -> None:
        super().__init__(policy)
        self.type: RuleType = pods.type
        self._pods = pods

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """Return the first failure, or what is said of the last template; an error where there is
        no template. Mutations are skipped, as in Kyverno."""
        if self.policy.kind is CelKind.MUTATING:
            return self.result(Status.SKIP, _NO_MUTATION)
        workload = admission.attributes.object or admission.attributes.old or {}
        last: RuleResult | None = None
        excepted: list[RuleResult] = []
        templates = list(pod_templates(workload))
        old = admission.attributes.old
        is_changed = old is not None and old is not workload
        before = {pod.keys: pod for pod in pod_templates(old or {})} if is_changed else {}
        for template in templates:
            asked = _of_pod(admission, workload, template, before.get(template.keys))
            result = self._pods.evaluate_admission(asked)
            if result is not None and result.status in (Status.FAIL, Status.ERROR):
                # The result for a template's Pod as that for the workload.
                fields = tuple(f"{pointer_of(*template.keys)}{field}" for field in result.fields)
                if result.rule == EVALUATION:
                    head, _, tail = result.message.partition(": ")
                    message = f"{head}: pod template at {template.path}: {tail}"
                else:
                    message = f"{result.message} (pod template at {template.path})"
                return replace(result, message=message, fields=fields)
            if result is not None and result.rule == EXCEPTED:
                excepted.append(result)
            elif result is not None and not (last and result.status is Status.SKIP):
                last = result
        if not templates:
            return self._without_template(Resource(workload))
        if excepted and (last is None or last.status is Status.SKIP):
            # One result for the exceptions of several templates.
            first, *others = excepted
            keys = (rule_result.message.partition(": ")[2] for rule_result in others)
            names = (rule_result.properties["exceptions"] for rule_result in excepted)
            message = ", ".join((first.message, *keys))
            return replace(first, message=message, properties={"exceptions": ",".join(names)})
        return last

    def _without_template(self, workload: Resource) -> RuleResult:
        named = f"{workload.api_version}/{workload.kind}"
        text = f"error: extraction mode: no pod template found in {named}"
        if self.policy.kind is CelKind.VALIDATING:
            return self.result(Status.ERROR, text, properties={INDEX: "0"})
        return self.result(Status.ERROR, text, self.policy.name)


def _of_pod(
    parent: Admission, workload: Body, template: PodTemplate, before: PodTemplate | None
) -> Admission:
    """Return the request for a template's Pod in place of that for the workload; before: the
    template at the same place of the old object."""
    request = parent.attributes.request
    old = None if before is None else Resource(before.pod(workload))
    pod = Resource(template.pod(workload), request.resource.location)
    attributes = Attributes(replace(request, resource=pod, old=old, kind=None, plural=""))
    if parent.attributes.old is not workload and old is None:
        attributes.old = None
    return admission(attributes, parent.world, parent.evidence, absent=None)
