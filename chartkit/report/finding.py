"""Findings: failures of rules, and diagnostics, as formats for pipelines have them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import ClassVar, Final, Protocol, runtime_checkable

from chartkit import SITE
from chartkit.model import (
    Body,
    Diagnostic,
    Explanation,
    Location,
    Resource,
    RuleResult,
    Severity,
    Status,
)
from chartkit.report.model import (
    NONE_ACCEPTED,
    Acceptance,
    Accepted,
    FieldPlace,
    ReportOptions,
    ResultCache,
    field_places,
    resource_id,
    rule_id,
)

_LINT: Final = "docs/reference/lint.md"
FAILED: Final = frozenset({Status.FAIL, Status.WARN, Status.ERROR})
_LEVELS: Final = {
    Status.FAIL: Severity.ERROR,
    Status.ERROR: Severity.ERROR,
    Status.WARN: Severity.WARNING,
}


@dataclass(frozen=True, slots=True)
class FindingRule:
    """The rule of a finding: `policy/rule`, or the ID of a diagnostic.

    description: why the rule exists; remediation: what to change; url: the rule's page; severity:
    `critical`, `high`, `medium`, `low`, `info` or empty; controls: of standards.
    """

    id: str
    policy: str
    name: str = ""
    kind: str = ""
    title: str = ""
    description: str = ""
    remediation: str = ""
    url: str = ""
    severity: str = ""
    category: str = ""
    controls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A failure or a diagnostic.

    result: `fail`, `warn`, `error`, or the severity of a diagnostic; location: of the most telling
    field, else of the object; field: that field, as `spec.containers[0].image`; others: further
    fields; resource: None for a diagnostic; environment: where several reports are merged; why: the
    checks that decided, as lines; link: to a page that opens the policy and the object.
    """

    rule: FindingRule
    level: Severity
    result: str
    message: str
    location: Location | None = None
    field: str = ""
    others: Sequence[FieldPlace] = ()
    resource: Resource | None = None
    action: str = ""
    hint: str = ""
    acceptance: Acceptance | None = None
    environment: str = ""
    why: tuple[str, ...] = ()
    link: str = ""

    @property
    def subject(self) -> str:
        """The object as `kind/namespace/name`, empty for a diagnostic."""
        return resource_id(self.resource) if self.resource else ""

    @property
    def file(self) -> str:
        """The file with `/` between folders; empty where there is no text, as in a cluster."""
        location = self.location
        if location is None or location.file.startswith("<"):
            return ""
        if self.resource is not None and not location.line:
            return ""
        return _posix(location.file)

    @property
    def repository_file(self) -> str:
        """The file as its repository names it, wherever the command runs: from the root of the git
        checkout; otherwise as `file`."""
        return _in_repository(self.file, os.getcwd()) if self.file else ""

    @property
    def fingerprint(self) -> str:
        """The identity of the finding from run to run: it names no line, so that moved lines and
        reordered documents keep it."""
        resource = self.resource
        if resource is not None and resource.kind:
            group = resource.api_version.rpartition("/")[0]
            identity: tuple[str, ...] = group, resource.kind, resource.namespace, resource.name
        elif self.location is None:
            identity = (self.message,)
        else:
            path = self.location.path
            identity = (self.file, path) if path else (self.file, self.message)
        parts = (self.rule.kind, self.rule.policy, self.rule.name, *identity, self.field)
        text = "\0".join(parts).encode("utf-8", "replace")
        import hashlib

        return hashlib.sha256(text).hexdigest()[:32]


@lru_cache(maxsize=1024)
def _posix(file: str) -> str:
    """Return the name of a file with `/` between folders; a file has many findings."""
    return PurePath(file).as_posix()


@lru_cache(maxsize=1024)
def _in_repository(file: str, here: str) -> str:
    """Return a file's path from the root of the checkout that the current folder is in, or else of
    the one that the file is in."""
    from chartkit.documents.input_files import checkout_top  # Only some formats ask for it.

    whole = Path(here, file)
    if "://" in file or not whole.exists():
        return file
    whole = Path(os.path.normpath(whole))
    for folder in (Path(here), whole.parent):
        top = checkout_top(folder)
        if top is not None and whole.is_relative_to(top):
            return whole.relative_to(top).as_posix()
    return file


def diagnostic_finding(diagnostic: Diagnostic, explanation: Explanation | None = None) -> Finding:
    """Return a diagnostic as a finding; explanation: of its ID, if there is one."""
    name = diagnostic.rule_id
    rule = FindingRule(name, name)
    if explanation is not None:
        page = explanation.page
        see = f" See {page}#{name.lower()}." if page else ""
        html = (page or _LINT).removeprefix("docs/").replace(".md", ".html")
        rule = FindingRule(
            name, name, title=explanation.what, description=explanation.why,
            remediation=explanation.do + see, url=f"{SITE}{html}#{name.lower()}",
        )  # fmt: skip
    severity = diagnostic.severity
    return Finding(
        rule,
        severity,
        str(severity),
        diagnostic.message,
        diagnostic.location,
        hint=diagnostic.hint or "",
    )


def diagnostic_body(diagnostic: Diagnostic) -> Body:
    """Return a diagnostic for programs; a missing location or hint is empty."""
    return {
        "rule": diagnostic.rule_id,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "location": str(diagnostic.location) if diagnostic.location else "",
        "hint": diagnostic.hint or "",
    }


def diagnostic_entry(diagnostic: Diagnostic) -> Body:
    """A diagnostic for programs by its `id`; location and hint are null where there is none."""
    return {
        "id": diagnostic.rule_id,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "location": str(diagnostic.location) if diagnostic.location else None,
        "hint": diagnostic.hint,
    }


@runtime_checkable
class FindingSink(Protocol):
    """A writer that takes findings one by one, in addition to results."""

    def write(self, finding: Finding) -> None:
        """Add one finding."""

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """Yield the report, ending with a newline."""


class FindingFormat(ABC):
    """A writer of findings: those of results, and those of commands without results."""

    most_places: ClassVar[int | None] = 1
    """The most fields of a failure that a format has; None for all."""
    with_passes: ClassVar[bool] = False
    """True for a format that has passes and skips, where they are asked for."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._rule = ResultCache(self._rule_of)

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Add one resource's results."""
        has_all = self.with_passes and self._options.detailed
        for position, result in enumerate(results):
            if has_all or result.status in FAILED:
                self.write(self._finding(resource, result, accepted.get(position)))

    @abstractmethod
    def write(self, finding: Finding) -> None:
        """Add one finding."""

    @abstractmethod
    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """Yield the report, ending with a newline."""

    def _finding(
        self, resource: Resource, result: RuleResult, acceptance: Acceptance | None
    ) -> Finding:
        places = field_places(resource, result, self.most_places)
        first, *others = places or (FieldPlace("", resource.location),)
        rule = self._rule(result)
        level = _LEVELS.get(result.status, Severity.NOTE)
        if level is Severity.ERROR and self._options.is_below(rule.severity):
            level = Severity.WARNING
        return Finding(
            rule,
            level,
            str(result.status),
            result.message,
            first.location,
            first.field,
            others,
            resource,
            self._options.action(resource, result),
            acceptance=acceptance,
            why=result.why,
        )

    def _rule_of(self, result: RuleResult) -> FindingRule:
        facts = self._options.facts(result)
        return FindingRule(
            rule_id(result),
            result.policy,
            result.rule,
            result.kind,
            facts.title,
            facts.description,
            facts.remediation,
            facts.url,
            facts.severity,
            facts.category,
            facts.controls,
        )
