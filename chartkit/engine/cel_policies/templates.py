"""Policies about Pods asked about workloads of custom kinds: each Pod template that is found in one
is judged as a Pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cel_policies.evaluator import EVALUATION, Admission, Evaluator, admission
from chartkit.engine.cel_policies.exceptions import RULE
from chartkit.engine.cel_policies.kinds.validating import INDEX
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, Status, pointer_of, text_of

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
            and all(map(_is_container, containers))
        )
        if is_template:
            yield PodTemplate(keys, node)
            return
        for key, member in node.items():
            yield from _below((*keys, key), member)
    elif isinstance(node, list):
        for index, member in enumerate(node):
            yield from _below((*keys, index), member)


def _is_container(body: Json) -> bool:
    return (
        isinstance(body, dict)
        and bool(text_of(body.get("name")))
        and isinstance(body.get("image"), str)
    )


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
        before = {one.keys: one for one in pod_templates(old or {})} if is_changed else {}
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
            if result is not None and result.rule == RULE:
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
