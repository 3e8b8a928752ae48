"""A pod as the Pod Security checks see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from chartkit.model import Body

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

    @property
    def is_windows(self) -> bool:
        """Return whether it says that it is for Windows."""
        return (self.spec.get("os") or {}).get("name") == "windows"

    def without_containers(self) -> Pod:
        """The pod with one container that says nothing, so that its own fields alone count."""
        return Pod(
            self.annotations, self.spec, (Container({"name": "fake"}, "spec.containers[0]"),)
        )

    def only_containers(self, wanted: Callable[[str], bool]) -> Pod:
        """The containers whose images are wanted, in a pod that says nothing itself."""
        return pod_of({}, {key: _kept(self.spec, key, wanted) for key in CONTAINER_LISTS})


def pod_of(annotations: Mapping[str, str], spec: Body) -> Pod:
    """The pod of a decoded pod spec."""
    return Pod(annotations, spec, tuple(_containers(spec)))


def _containers(spec: Body) -> Iterator[Container]:
    for key in CONTAINER_LISTS:
        for index, body in enumerate(spec.get(key) or ()):
            yield Container(body, f"spec.{key}[{index}]")


def _kept(spec: Body, key: str, wanted: Callable[[str], bool]) -> list[Body]:
    bodies: list[Body] = spec.get(key) or []
    return [body for body in bodies if wanted(body.get("image", ""))]
