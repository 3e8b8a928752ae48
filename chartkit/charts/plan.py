"""What a generated chart consists of, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chartkit.library.policies import LibraryPolicy
    from chartkit.library.profiles import Resolved


@dataclass(frozen=True, slots=True)
class ChartPlan:
    """One chart as it is to be written.

    name: the chart's name and folder; files: text by path inside the chart, owned by chartkit and
    written as they are; values: text by file name (`values.yaml`, `values_dev.yaml` …), where hand
    edits are kept by a three-way merge; policies: those that it carries, None where
    they are not of libraries that chartkit reads; resolved: what each environment gets of them, by
    its name.
    """

    name: str
    files: Mapping[str, str]
    values: Mapping[str, str]
    policies: tuple[LibraryPolicy, ...] | None = field(default=None, repr=False)
    resolved: Mapping[str, Resolved] = field(default_factory=dict, repr=False)
