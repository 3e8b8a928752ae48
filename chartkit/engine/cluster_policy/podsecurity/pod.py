"""A pod as the Pod Security checks see it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final

from chartkit.engine.kubernetes.kinds import CRON_JOB, POD_SPECS
from chartkit.errors import EvaluationError
from chartkit.go.types import GoTypes
from chartkit.model import Body, Resource

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
"""In the order in which the checks visit them."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container and its path in the pod, `spec.containers[0]`."""

    body: Body
    path: str

    @property
    def name(self) -> str:
        """The container's name; empty if missing."""
        return str(self.body.get("name", ""))

    @property
    def image(self) -> str:
        """The image as written; empty if missing."""
        return str(self.body.get("image", ""))

    @property
    def security(self) -> Body | None:
        """Its own `securityContext`."""
        return self.body.get("securityContext")

    def forbidden(self, field: str, value: BadValue) -> FieldError:
        """The error of a field of its `securityContext` with a value that it must not have."""
        return FieldError(f"{self.path}.securityContext.{field}", value, self.name)

    def missing(self, field: str) -> FieldError:
        """The error of a field that its `securityContext` must have."""
        path = f"{self.path}.securityContext.{field}"
        return FieldError(path, container=self.name, is_missing=True)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, or a controller's template: decoded, so that every field has the type it must have."""

    annotations: Mapping[str, str]
    spec: Body
    containers: tuple[Container, ...] = field(default=())

    @property
    def security(self) -> Body:
        """The pod's `securityContext`; empty if missing."""
        return self.spec.get("securityContext") or {}

    def owners(self) -> Iterator[tuple[str, str | None, Body]]:
        """Yield each `securityContext` with its path, and the name of its container; the pod's own
        is first, without a name."""
        yield "spec.securityContext", None, self.security
        for container in self.containers:
            yield f"{container.path}.securityContext", container.name, container.security or {}

    def setting(self, field: str, bad: Callable[[Body], BadValue | None]) -> tuple[FieldError, ...]:
        """Return the errors of a field of every `securityContext`.

        bad: the forbidden value, or None.
        """
        values = ((path, name, bad(security)) for path, name, security in self.owners())
        return tuple(
            FieldError(f"{path}.{field}", value, name)
            for path, name, value in values
            if value is not None
        )

    @property
    def is_windows(self) -> bool:
        """Report whether it says that it is for Windows."""
        return (self.spec.get("os") or {}).get("name") == "windows"

    def without_containers(self) -> Pod:
        """Return the pod with a single empty container, so that only the pod's own fields count."""
        return Pod(
            self.annotations, self.spec, (Container({"name": "fake"}, "spec.containers[0]"),)
        )

    def only_containers(self, wanted: Callable[[str], bool]) -> Pod:
        """Return the containers with matching images, in a pod without settings of its own."""
        listed = {key: self.spec.get(key) or () for key in CONTAINER_LISTS}
        kept = {
            key: [body for body in bodies if wanted(body.get("image", ""))]
            for key, bodies in listed.items()
        }
        return pod_of({}, kept)


def pod_of(annotations: Mapping[str, str], spec: Body) -> Pod:
    containers = (
        Container(body, f"spec.{key}[{index}]")
        for key in CONTAINER_LISTS
        for index, body in enumerate(spec.get(key) or ())
    )
    return Pod(annotations, spec, tuple(containers))


_TEMPLATE: Final = ("spec", "template")
_JOB_TEMPLATE: Final = ("spec", "jobTemplate")


def read_pod(resource: Resource) -> Pod:
    """The pod of a workload. Raises EvaluationError for other kinds and for wrong types.

    A CronJob has the annotations of its job template, as in Kyverno.
    """
    kind = resource.kind
    if kind == "Pod":
        pod = _types().decode("core/v1.Pod", resource.body)
        return _pod(pod, pod)
    if kind == CRON_JOB:
        job = _at(_types().decode("batch/v1.CronJob", resource.body), _JOB_TEMPLATE)
        return _pod(job, _at(job, _TEMPLATE))
    if kind in POD_SPECS:
        template = _at(_types().decode("apps/v1.Deployment", resource.body), _TEMPLATE)
        return _pod(template, template)
    raise EvaluationError("could not find correct resource type")


def _pod(described: Body, template: Body) -> Pod:
    return pod_of(_at(described, ("metadata", "annotations")), _at(template, ("spec",)))


def _at(body: Body, steps: tuple[str, ...]) -> Body:
    member = body
    for step in steps:
        member = member.get(step, {})
    return member


@cache
def _types() -> GoTypes:
    """The table that `tools/pod_types.py` makes."""
    text = files(__package__).joinpath("pod_types.json").read_text("utf-8")
    return GoTypes(json.loads(text)["types"])


BadValue = str | bool | int | tuple[str, ...]
"""The forbidden value of a field; empty text if nothing is to be shown."""

_NUMBER: Final = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field that breaks a check.

    container: the container's name where the field is one of a container's; is_missing: the
    field should be there.
    """

    path: str
    value: BadValue = ""
    container: str | None = None
    is_missing: bool = False

    def __str__(self) -> str:
        if self.is_missing:
            return f"{self.path}: Required value"
        if self.value == "":
            return f"{self.path}: Forbidden"
        return f"{self.path} is forbidden, forbidden values found: {_shown(self.value)}"

    @property
    def pattern(self) -> str:
        """The path with `*` for every number, as in `restrictedField`."""
        return _NUMBER.sub("*", self.path)

    @property
    def values(self) -> tuple[str, ...]:
        """The bad values as text, for wildcards."""
        return self.texts if self.value != "" else ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The bad values as text, the empty one among them."""
        return self.value if isinstance(self.value, tuple) else (_shown(self.value),)


def _shown(value: BadValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{' '.join(value)}]"
    return str(value)


@dataclass(frozen=True, slots=True)
class Violation:
    """The reason why a check forbids a pod.

    check: its id; detail: names containers and values; errors: None where a check tells no fields;
    places: the paths of the fields then, which Kyverno does not show.
    """

    reason: str
    detail: str
    errors: tuple[FieldError, ...] | None = None
    places: tuple[str, ...] = ()
    check: str = ""


def quoted(items: Iterable[str]) -> str:
    """`"a", "b"`."""
    text = '", "'.join(items)
    return f'"{text}"' if text else ""


def plural(word: str, count: int) -> str:
    """The word, with an `s` unless there is one."""
    return word if count == 1 else f"{word}s"


def counted(word: str, items: Iterable[str]) -> str:
    """`container "a"` or `containers "a", "b"`."""
    names = list(items)
    return f"{plural(word, len(names))} {quoted(names)}"


def setters(errors: Iterable[FieldError]) -> str:
    """The parts that set a field, by its errors: the pod, and containers by their names."""
    owners = [error.container for error in errors]
    names = [name for name in owners if name is not None]
    parts = ("pod" if None in owners else "", counted("container", names) if names else "")
    return " and ".join(filter(None, parts))


def using(word: str, names: Sequence[str]) -> str:
    """`container "a" uses`, `containers "a", "b" use`."""
    return f"{counted(word, names)} {'uses' if len(names) == 1 else 'use'}"
