"""The plan of a generated chart: its files, and the policies that they carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from chartkit.library.policy import LibraryPolicy
from chartkit.library.profiles import Selection
from chartkit.model import Body, Resource
from chartkit.output.write import GeneratedChart

ENGINE: Final = "kyverno"
POLICIES: Final = "kyverno-policies"
REPORTER: Final = "policy-reporter"
"""Upstream's alone: where it is not vendored, its values files are written."""
NAMES: Final[tuple[str, ...]] = (ENGINE, POLICIES, REPORTER)
"""The charts that render writes, in the order in which they are installed."""
ALLOWED: Final[Body] = {"allowUnsupportedKubernetes": True}
"""The `global` values of an environment whose pair of versions is accepted and not supported."""


@dataclass(frozen=True, slots=True)
class ChartPlan(GeneratedChart):
    """One chart as it is to be written.

    policies: those that it carries, None where they are not of libraries that chartkit reads;
    resolved: the policies and settings of each environment, by its name; cluster_policies: those
    that come as ClusterPolicy or Policy, at their defaults.
    """

    policies: tuple[LibraryPolicy, ...] | None = field(default=None, repr=False)
    resolved: Mapping[str, Selection] = field(default_factory=dict, repr=False)
    cluster_policies: Mapping[str, tuple[Resource, ...]] = field(default_factory=dict, repr=False)
