"""What a policy folder says of its policy: the control, its parameters, its examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chartkit.model import Body, Json


@dataclass(frozen=True, slots=True)
class Control:
    """What a policy implements: a control of a standard or guide, and where it is written."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that people set.

    schema: its JSON Schema, `description` and `default` among it; shared: whether one value goes
    to every policy that has it.
    """

    name: str
    schema: Body
    shared: bool = False

    @property
    def default(self) -> Json:
        """The value where nobody gives one."""
        return self.schema["default"]

    @property
    def type(self) -> str:
        """Its JSON type: string, integer, boolean or array."""
        return str(self.schema["type"])


@dataclass(frozen=True, slots=True)
class Examples:
    """Resources that must come out as their file says, at these parameter values.

    name: empty for the policy's own `good.yaml` and `bad.yaml`; parameters: what differs from the
    defaults; good, bad: the files, None where a case has none.
    """

    name: str
    parameters: Mapping[str, Json]
    good: Path | None
    bad: Path | None
