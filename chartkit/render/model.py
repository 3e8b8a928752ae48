"""The result of a render: the rows of the summary, which checks report, and the folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.model import Diagnostic, Location, Severity
from chartkit.network.downloads.lockfile import VENDOR
from chartkit.project.project import Project
from chartkit.report.text.layout import OBJECT_RULE

HELM_WARNINGS: Final = "helm warnings"
"""The check for Helm's own warnings."""
POLICY_WARNINGS: Final = "policy warnings"
OBJECT_FIELDS: Final = OBJECT_RULE
"""The check of kinds and fields of workloads."""
POLICIES: Final = "policies"
"""The check that policies compile, and name what there is."""
KUSTOMIZE: Final = "kustomize"
"""The folder of the charts as Kustomize has them."""
GITOPS: Final = "gitops"
"""The folder of what deployers read."""


class Outcome(StrEnum):
    """The outcome of a check; only `fail` fails the environment."""

    PASS = "pass"
    NOTE = "note"
    WARNING = "warning"
    FAIL = "fail"


_OUTCOMES = {
    Severity.ERROR: Outcome.FAIL,
    Severity.WARNING: Outcome.WARNING,
    Severity.NOTE: Outcome.NOTE,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the environment, the check, its outcome, one line of text, the location and a hint.
    policy, subject: of a violation, the policy's name and the object as `Pod/shop/a`."""

    environment: str
    check: str
    outcome: Outcome
    message: str
    location: Location | None = None
    hint: str | None = None
    policy: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class RenderResult:
    """rows: the summary; drift: a unified diff, with `check`; written: folders that changed on
    disk; is_repeatable: whether no chart or policy asks for the time or for chance, as far as is
    known."""

    rows: tuple[Row, ...]
    drift: str = ""
    written: tuple[Path, ...] = ()
    is_repeatable: bool = False

    @property
    def failed(self) -> bool:
        """True if a check failed or the charts have drifted."""
        return bool(self.drift) or failed(self.rows)


def failed(summary: Iterable[Row]) -> bool:
    """Report whether any check failed."""
    return any(row.outcome is Outcome.FAIL for row in summary)


def written_folders(project: Project) -> tuple[Path, ...]:
    """Return the folders in which a project's generated folders are."""
    manifests = () if project.manifests is None else (project.manifests,)
    return (project.charts, *manifests, project.root / KUSTOMIZE, project.root / GITOPS)


def own_folders(project: Project, path: Path) -> tuple[str, ...]:
    """Return the project's own folders below a path, as patterns relative to it: the generated ones
    and those of policies, which hold no workloads."""
    top = Path(os.path.abspath(path))
    own = (*written_folders(project), *project.library, project.root / VENDOR)
    below = [Path(os.path.abspath(file)) for file in own]
    return tuple(
        f"/{glob.escape(file.relative_to(top).as_posix())}/"
        for file in below
        if file != top and file.is_relative_to(top)
    )


def findings(
    environment: str, check: str, diagnostics: Iterable[Diagnostic], location: Location
) -> list[Row]:
    """Return a row for each finding."""
    return [
        Row(
            environment,
            check,
            _OUTCOMES[diagnostic.severity],
            diagnostic.message,
            diagnostic.location or location,
            diagnostic.hint,
        )
        for diagnostic in diagnostics
    ]


def rows(
    environment: str,
    check: str,
    diagnostics: Iterable[Diagnostic],
    otherwise: str,
    location: Location,
    violations: Iterable[Row] = (),
) -> list[Row]:
    """Return the violations and a row for each finding; if all are notes, a row that the check
    passed comes first."""
    result = [*violations, *findings(environment, check, diagnostics, location)]
    if all(row.outcome is Outcome.NOTE for row in result):
        result.insert(0, Row(environment, check, Outcome.PASS, otherwise, location))
    return result
