"""The gate: which violations fail a run. It selects results, accepts those of a baseline and those
that an annotation suppresses, and counts the others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Resource, Status, mapping_at

VIOLATIONS: Final = frozenset({Status.FAIL, Status.WARN, Status.ERROR})
ANNOTATION: Final = "chartkit.dev/suppress"
_AUTOGEN: Final = ("autogen-cronjob-", "autogen-")


class Threshold(StrEnum):
    """The least severity of a violation that fails a run; none: no violation does. The most severe
    one is first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """Options that say which results count, and which of them fail a run.

    fail_on: a `Threshold`, None for all violations; select, skip: selectors; suppressions: whether
    annotations of objects are honoured; quiet: whether only what fails the run is shown.
    """

    baseline: Path | None = None
    update_baseline: bool = False
    fail_on_stale: bool = False
    fail_on: str | None = None
    warn_exit_code: int | None = None
    fail_on_nothing: bool = False
    select: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    suppressions: bool = True
    quiet: bool = False


def require_baseline(options: GateOptions) -> None:
    """Raise InputError for options of a baseline without one."""
    given = {"--update-baseline": options.update_baseline, "--fail-on-stale": options.fail_on_stale}
    for option, is_given in given.items():
        if is_given and options.baseline is None:
            raise InputError(f"{option} needs a baseline", hint="name it with --baseline FILE")


def written_rule(rule: str) -> str:
    """Return the name of a rule as its policy has it, without the prefixes of autogen forms."""
    for prefix in _AUTOGEN:
        rule = rule.removeprefix(prefix)
    return rule


def has_suppressions(resource: Resource) -> bool:
    """Report whether an object has the annotation."""
    return ANNOTATION in mapping_at(resource.body, "metadata", "annotations")
