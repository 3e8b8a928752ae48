"""`validate.podSecurity` rules: the handler, its messages and what it reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.exceptions import PolicyException
from chartkit.engine.cluster_policy.existing import allow_existing
from chartkit.engine.cluster_policy.handler import (
    NO_ELEMENT,
    Check,
    Checked,
    ExceptedHandler,
    looks_back,
)
from chartkit.engine.cluster_policy.podsecurity.checks import (
    CONTROL_OF,
    Exclusion,
    choose,
    compile_exclusion,
    find,
    lift_all,
)
from chartkit.engine.cluster_policy.podsecurity.pod import Violation, read_pod
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.images import extract_images
from chartkit.engine.context.recorder import field_below
from chartkit.engine.jmespath.traced import Traced
from chartkit.engine.kubernetes.kinds import CRON_JOB, POD_SPECS
from chartkit.engine.request import Operation, Request
from chartkit.engine.why import Asked, Decision
from chartkit.errors import EvaluationError
from chartkit.go.fmt import go_json
from chartkit.go.regexp import compile_regex
from chartkit.model import Body, FieldPath, Json, Resource, RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.engine.context.origins import Origins

_NAMED_CONTAINERS: Final = compile_regex(r"container(?:s)?\s*(.*?)\s*must")


@dataclass(frozen=True, slots=True, eq=False)
class _Judged(Checked):
    """A decision and what reports say beside it."""

    properties: dict[str, str] = field(default_factory=dict)


class PodSecurityHandler(ExceptedHandler):
    """Judges workloads by a level of the Pod Security Standards at a version, with the controls
    that the rule itself lifts.

    Raises ValueError for a version that the schema of policies does not let through.
    """

    __slots__ = ("_body", "_check", "_chosen", "_excepted", "_exclusions", "_policy", "_rule")

    def __init__(self, rule: Rule, policy: Policy) -> None:
        self._rule = rule
        self._policy = policy
        self._body: Body = rule.validate.pod_security or {}
        self._chosen = choose(self._body.get("level") or "", self._body.get("version") or "")
        self._exclusions = self._compiled(self._body.get("exclude") or ())
        self._check = self._compile((), (), ())
        self._excepted: dict[tuple[str, ...], Check] = {}

    def __call__(self, context: Context, request: Request) -> RuleResult | None:
        return self._result(self._check, context, request)

    def excepted(
        self, context: Context, request: Request, exceptions: Sequence[PolicyException]
    ) -> RuleResult | None:
        """Return the result for a request with exceptions: one without podSecurity controls lifts
        the rule, the others lift their controls."""
        if request.operation is Operation.DELETE:
            return None
        names = tuple(exception.key.rpartition("/")[2] for exception in exceptions)
        for exception, name in zip(exceptions, names, strict=True):
            if not exception.pod_security:
                text = f"rule is skipped due to policy exception {exception.key}"
                return self._answer(Status.SKIP, text, {"exceptions": name})
        keys = tuple(exception.key for exception in exceptions)
        check = self._excepted.get(keys)
        if check is None:
            lifted = [control for item in exceptions for control in item.pod_security]
            check = self._excepted[keys] = self._compile(lifted, keys, names)
        return self._result(check, context, request)

    def _result(self, check: Check, context: Context, request: Request) -> RuleResult | None:
        if request.operation is Operation.DELETE:
            return None
        checked = check(context, request, NO_ELEMENT)
        if checked is None:
            return None
        properties = checked.properties if isinstance(checked, _Judged) else {}
        result = self._answer(checked.status, checked.message, properties)
        fields = checked.pointers(context, request.resource.body)
        return replace(result, fields=fields) if fields else result

    def _answer(self, status: Status, message: str, properties: dict[str, str]) -> RuleResult:
        policy, rule = self._policy.key, self._rule.name
        kind = RuleType.VALIDATION
        return RuleResult(policy, rule, kind, status, message, properties=properties)

    def _compiled(self, bodies: Sequence[Body]) -> tuple[Exclusion, ...]:
        return tuple(compile_exclusion(body, self._chosen) for body in bodies)

    def _compile(
        self, lifted: Sequence[Body], keys: tuple[str, ...], names: tuple[str, ...]
    ) -> Check:
        """Judges an object; lifted: further controls, from exceptions."""
        exclusions = self._compiled(lifted)
        level, version = self._body.get("level") or "", self._body.get("version") or ""
        passed = Checked(Status.PASS, f"Validation rule '{self._rule.name}' passed.")
        failed = f"Validation rule '{self._rule.name}' failed. It violates PodSecurity "
        skipped = _Judged(
            Status.SKIP,
            f"rule is skipped due to policy exceptions {', '.join(keys)}",
            properties={"exceptions": ",".join(names)},
        )

        def check(context: Context, request: Request, _element: Json) -> Checked:
            try:
                pod = read_pod(request.resource)
            except EvaluationError as error:
                message = f"Error while getting new resource: {error.message}"
                return Checked(Status.ERROR, message)
            every = find(self._chosen, pod)
            findings = lift_all(self._exclusions, every, pod)
            kind, left = request.resource.kind, lift_all(exclusions, findings, pod)
            if context.recorder is not None:
                # The controls that the object violates.
                recorder = context.recorder
                lifted = {finding.check for finding in every} - {item.check for item in findings}
                remaining = {finding.check: finding for finding in reversed(left)}
                for finding in every:
                    control = CONTROL_OF.get(finding.check, finding.check)
                    path: tuple[str, ...] = ()
                    if finding.check in lifted:
                        text, holds, path = f"{control}: lifted by exclude", True, ("exclude",)
                    elif finding.check not in remaining:
                        text, holds = f"{control}: lifted by an exception", True
                    else:
                        finding = remaining[finding.check]
                        text, holds = f"{control}: {finding.reason} ({finding.detail})", False
                    paths = _paths_of((finding,), kind, recorder.judged)
                    pointer, value = field_below(recorder.judged, next(iter(paths), ()))
                    location = recorder.sources.location(self._body, *path)
                    recorder.add(Decision(Asked.CONTROL, holds, text, location, pointer, value))
            if not left:
                return skipped if findings else passed
            prefix = POD_SPECS.get(kind)
            groups = "".join(_group(finding, prefix) for finding in left)
            image_of = _images(request.resource)
            controls = ",".join(_control(finding, image_of) for finding in left)
            properties = {
                "standard": level,
                "version": version,
                "controls": ",".join(finding.check for finding in left),
                "controlsJSON": f"[{controls}]",
            }
            text, fields = f'{failed}"{level}:{version}": {groups}', partial(_fields_of, left, kind)
            return _Judged(Status.FAIL, text, fields, properties)

        if not looks_back(self._rule, self._policy):
            return check
        return allow_existing(check, self._rule, self._policy)


def _group(finding: Violation, prefix: str | None) -> str:
    errors = []
    for error in finding.errors or ():
        path = error.path if prefix is None else error.path.replace("spec", prefix)
        path = path.replace("metadata", "spec.template.metadata")
        errors.append(str(replace(error, path=path)))
    return f"(Forbidden reason: {finding.reason}, field error list: [{', '.join(errors)}])"


def _control(finding: Violation, image_of: Callable[[str], str]) -> str:
    match = next(_NAMED_CONTAINERS.find_groups(finding.detail), None)
    images = None
    if match is not None:
        names = str(match[2][0]).replace('"', "").replace(" ", "").split(",")
        images = [image_of(name) for name in names]
    name = CONTROL_OF.get(finding.check, "")
    return f'{{"ID":{go_json(finding.check)},"Name":{go_json(name)},"Images":{go_json(images)}}}'


def _images(resource: Resource) -> Callable[[str], str]:
    """Return the image of a container by its name; the name itself without an image."""
    try:
        images = extract_images(resource.body)
    except EvaluationError:
        images = {}

    def image_of(name: str) -> str:
        for kind in ("containers", "initContainers", "ephemeralContainers"):
            parts = (images.get(kind) or {}).get(name)
            if parts:
                image = parts.get("path") or ""
                if parts.get("registry"):
                    image = f"{parts['registry']}/{image}"
                if parts.get("digest"):
                    return f"{image}@{parts['digest']}"
                return f"{image}:{parts.get('tag') or ''}"
        return name

    return image_of


_ANNOTATION: Final = "metadata.annotations["
_STEP: Final = re.compile(r"[^.\[\]]+")
_OF_THE_POD: Final = {
    "runAsNonRoot": "spec.securityContext.runAsNonRoot",
    "seccompProfile_restricted": "spec.securityContext.seccompProfile.type",
}
"""The field of the pod that speaks for all of its containers, by check."""


def _fields_of(findings: Sequence[Violation], kind: str, origins: Origins) -> Iterator[FieldPath]:
    return _paths_of(findings, kind, origins.judged)


def _paths_of(findings: Sequence[Violation], kind: str, judged: Traced) -> Iterator[FieldPath]:
    """The fields, in the order of the findings; kind: of the judged object."""
    for finding in findings:
        errors = finding.errors or ()
        if finding.check in _OF_THE_POD and sum(error.is_missing for error in errors) > 1:
            yield _path(_OF_THE_POD[finding.check], kind)
        for error in errors:
            path = _path(error.path, kind)
            if path[-1] == "add" and isinstance(error.value, tuple):
                reached = judged
                for step in path:
                    reached = reached.member(step)
                members = reached.value if isinstance(reached.value, list) else []
                yield from ((*path, i) for i, name in enumerate(members) if name in error.value)
            yield path
        yield from (_path(path, kind) for path in finding.places)


@lru_cache(maxsize=1024)
def _path(path: str, kind: str) -> FieldPath:
    """Return the path in an object of a kind of a place in its Pod, `spec.containers[0].image`."""
    spec: tuple[str, ...] = tuple(POD_SPECS[kind].split(".")) if kind in POD_SPECS else ("spec",)
    if path.startswith(_ANNOTATION):
        # The annotations of a CronJob are those of its job template, as Kyverno has it.
        above = spec[:-3] if kind == CRON_JOB else spec[:-1]
        return (*above, "metadata", "annotations", path[len(_ANNOTATION) : -1])
    # A volume without a type that the checks know is named as one of the type "unknown".
    path = path.removesuffix(".unknown")
    steps = [int(step) if step.isdigit() else step for step in _STEP.findall(path)]
    return (*spec, *steps[1:])


_CONTAINER_CONTROLS: Final = (
    "Capabilities",
    "Privileged Containers",
    "Host Ports",
    "/proc Mount Type",
    "Privilege Escalation",
)


_POD_CONTROLS: Final = ("Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types")


def control_faults(control: Body, path: str) -> Iterator[str]:
    """Return the faults of a lifted pod security control, in a rule or an exception."""
    name = control["controlName"]
    invalid = f'{path}.controlName: Invalid value: "{name}": exclude.images must '
    if name in _CONTAINER_CONTROLS and not control.get("images"):
        yield f"{invalid}be specified for the container level control"
    elif name in _POD_CONTROLS and control.get("images"):
        yield f"{invalid}not be specified for the pod level control"
    if control.get("restrictedField") and not control.get("values"):
        yield f"{path}.values: Forbidden: values is required"
    if control.get("values") and not control.get("restrictedField"):
        yield f"{path}.restrictedField: Forbidden: restrictedField is required"
