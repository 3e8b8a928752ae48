"""The catalogue's record of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.model import Location
from chartkit.report.model import SEVERITIES as SEVERITIES


class Kind(StrEnum):
    """The effect of a policy."""

    VALIDATE = "validate"
    MUTATE = "mutate"
    GENERATE = "generate"
    IMAGE = "image"
    CLEANUP = "cleanup"


FORMS: Final[Mapping[str, Kind | None]] = {
    "ClusterPolicy": None,
    "Policy": None,
    "ClusterCleanupPolicy": Kind.CLEANUP,
    "CleanupPolicy": Kind.CLEANUP,
    "ValidatingPolicy": Kind.VALIDATE,
    "MutatingPolicy": Kind.MUTATE,
    "GeneratingPolicy": Kind.GENERATE,
    "DeletingPolicy": Kind.CLEANUP,
    "ImageValidatingPolicy": Kind.IMAGE,
    "NamespacedValidatingPolicy": Kind.VALIDATE,
    "NamespacedMutatingPolicy": Kind.MUTATE,
    "NamespacedGeneratingPolicy": Kind.GENERATE,
    "NamespacedDeletingPolicy": Kind.CLEANUP,
    "NamespacedImageValidatingPolicy": Kind.IMAGE,
    "ValidatingAdmissionPolicy": Kind.VALIDATE,
    "MutatingAdmissionPolicy": Kind.MUTATE,
}
"""The forms that a policy can have, and what each does; None where its rules say it."""
RULES: Final[Mapping[str, Kind]] = {
    "validate": Kind.VALIDATE,
    "mutate": Kind.MUTATE,
    "generate": Kind.GENERATE,
    "verifyImages": Kind.IMAGE,
}
"""The effect of a ClusterPolicy's rule, by its key."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One policy of a library.

    library: the library's name; reference: folder and name, unique in a library; name: what the
    policy calls itself; subjects: the kinds of objects that it speaks of; kinds: what it does;
    forms: its kinds as Kubernetes objects; minimum: the oldest Kyverno that runs it, the later one
    of what it claims and what its fields need, empty where neither is known; file, line: where it
    begins; own: whether it is a folder in chartkit's format, with metadata.yaml.
    """

    library: str
    reference: str
    name: str
    title: str
    description: str
    category: str
    severity: str
    subjects: tuple[str, ...]
    kinds: tuple[str, ...]
    forms: tuple[str, ...]
    minimum: str
    file: str
    line: int
    own: bool

    @property
    def qualified(self) -> str:
        """Its reference with its library, unique among all policies."""
        return f"{self.library}/{self.reference}"

    @property
    def short(self) -> str:
        """The last part of its reference."""
        return self.reference.rpartition("/")[2]

    @property
    def location(self) -> Location:
        """The place where it begins."""
        return Location(self.file, self.line)

    def below(self, library: str, root: Path) -> Entry:
        """The same in a library of a name, its file below the library's folder."""
        return replace(self, library=library, file=str(root / self.file))
