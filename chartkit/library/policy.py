"""Policies of a library: what all have, and those in chartkit's own format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from chartkit.documents.reader import Source
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Json


class Control(NamedTuple):
    """The control of a standard or guide that a policy implements, and its source."""

    name: str
    source: str


class Parameter(NamedTuple):
    """A value that users set.

    schema: its JSON Schema, with `description` and `default`; shared: whether one value goes to
    every policy that has it.
    """

    name: str
    schema: Body
    shared: bool = False

    @property
    def default(self) -> Json:
        """The value where none is set."""
        return self.schema["default"]

    @property
    def type(self) -> str:
        """Its JSON type: string, integer, boolean or array."""
        return str(self.schema["type"])


class Examples(NamedTuple):
    """Resources with a known result at these parameter values.

    name: empty for the policy's own `good.yaml` and `bad.yaml`; parameters: what differs from the
    defaults; good, bad: the files, None where a case has none.
    """

    name: str
    parameters: Mapping[str, Json]
    good: Path | None
    bad: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPolicy:
    """A policy of a library: a `FolderPolicy` or an `UpstreamPolicy`.

    reference: its name in profiles (`baseline/disallow-privileged-containers`); group: the folder
    that it is in (`baseline`); folder: its files'; title, category, severity, subject, description:
    its annotations; minimum_kyverno: the oldest version that runs it, in the form of `template`;
    counterpart: policies that fix, generate or guard what this one refuses, by name or reference;
    library: its library's name; instead_of: the policies of other libraries, qualified, that the
    reference means where the project has none of its own.
    """

    name: str
    reference: str
    group: str
    folder: Path
    title: str
    category: str
    severity: str
    subject: tuple[str, ...]
    description: str
    minimum_kyverno: Version
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    template: Source = field(repr=False)
    counterpart: tuple[str, ...] = ()
    library: str = ""
    instead_of: tuple[str, ...] = field(default=(), compare=False)

    @property
    def qualified(self) -> str:
        """Its reference with its library's name, unique among all policies."""
        return f"{self.library}/{self.reference}"

    @property
    def defaults(self) -> dict[str, Json]:
        """Every parameter's default value."""
        return {name: parameter.default for name, parameter in self.parameters.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPolicy(LibraryPolicy):
    """A policy in chartkit's own format: a folder with metadata.yaml.

    template: `policy.yaml`; cel: `cel.yaml`, None where the policy has no such form; messages:
    those of both forms by name, as a rule the rule's; remediation: what the owner of a refused
    object changes.
    """

    control: Control
    examples: tuple[Examples, ...]
    cel: Source | None = field(default=None, repr=False)
    messages: Mapping[str, str] = field(default_factory=dict)
    remediation: str = ""
