"""SARIF 2.1.0, as code scanning of GitHub, Azure DevOps and editors read it.

Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, Final
from urllib.parse import quote

from chartkit import SITE, __version__
from chartkit.documents.unread import UNREAD
from chartkit.model import Body, Location, Severity, Status
from chartkit.report.finding import Finding, FindingFormat, FindingRule
from chartkit.report.json_report import json_text
from chartkit.report.model import AcceptedAs, ReportOptions
from chartkit.report.spool import Spool

_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_SCORES: Final = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.5", "info": "0.0"}
"""GitHub's `security-severity` of a policy's severity."""
_KINDS: Final = {AcceptedAs.KNOWN: "external", AcceptedAs.SUPPRESSED: "inSource"}
_REFUSED: Final = "troubleshooting.html#a-policy-refuses-an-object"
"""The page about results of policies that have none of their own."""
_FINGERPRINTS: Final = ("chartkit/v1", "primaryLocationLineHash")
"""The names of fingerprints: ours, and the one that GitHub would otherwise make of lines."""
_INDEX: Final = re.compile(rb'^(\{"ruleId": "(?:[^"\\]|\\.)*", "ruleIndex": )(\d+)', re.MULTILINE)
"""The number of a result's rule: each result is a line."""
_Rules = dict[tuple[str, str], tuple[int, FindingRule, Severity]]
"""Rules by their kinds and IDs, each with its number and the level of its first finding."""


class SarifWriter(FindingFormat):
    """A log of one run: the rules of failures, and each failure with its place and fingerprint;
    inputs that could not be read are notifications of the tool."""

    most_places: ClassVar[int | None] = None

    def __init__(self, options: ReportOptions) -> None:
        super().__init__(options)
        self._spool = Spool()
        self._rules: _Rules = {}
        self._unread: list[str] = []

    def write(self, finding: Finding) -> None:
        rule, subject, file = finding.rule, finding.subject, finding.repository_file
        if rule.id == UNREAD:
            physical = _physical(file, finding.location)
            notification: Body = {
                "descriptor": {"id": UNREAD},
                "level": _LEVELS[finding.level],
                "message": {"text": _message(finding, "")},
                **({"locations": [physical]} if physical else {}),
            }
            self._unread.append(json_text(notification, None))
            return
        new = (len(self._rules), rule, finding.level)
        index, _, _ = self._rules.setdefault((rule.kind, rule.id), new)
        name = "/".join(filter(None, (subject, finding.field))) or rule.id
        logical = {"fullyQualifiedName": name, "kind": "object"}
        result: Body = {
            "ruleId": rule.id,
            "ruleIndex": index,
            "level": _LEVELS[finding.level],
            "message": {"text": _message(finding, subject)},
            "locations": [{**_physical(file, finding.location), "logicalLocations": [logical]}],
            "partialFingerprints": dict.fromkeys(_FINGERPRINTS, finding.fingerprint),
        }
        if finding.others and file:
            result["relatedLocations"] = [
                {**_physical(file, other.location), "message": {"text": other.field}}
                for other in finding.others
            ]
        if finding.acceptance is not None:
            body: Body = {"kind": _KINDS[finding.acceptance.state], "status": "accepted"}
            reason = (
                str(finding.acceptance) if finding.acceptance.until else finding.acceptance.reason
            )
            result["suppressions"] = [{**body, "justification": reason} if reason else body]
        said = {"result": finding.result, "action": finding.action, "field": finding.field}
        result["properties"] = {key: value for key, value in said.items() if value}
        self._spool.write(f",\n{json_text(result, None)}")

    def part(self) -> tuple[bytes, _Rules]:
        rules, self._rules = self._rules, {}
        return self._spool.part(), rules

    def append(self, part: tuple[bytes, _Rules]) -> None:
        text, rules = part
        indices: list[int] = []
        for key, (_, rule, level) in rules.items():
            indices.append(self._rules.setdefault(key, (len(self._rules), rule, level))[0])
        if indices != list(range(len(indices))):
            text = _INDEX.sub(lambda match: b"%s%d" % (match[1], indices[int(match[2])]), text)
        self._spool.append(text)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:  # noqa: ARG002 - failures alone
        driver: Body = {"name": "chartkit", "semanticVersion": __version__}
        rules = sorted(self._rules.values(), key=lambda rule: rule[0])
        listed_rules: list[Body] = []
        for _, rule, level in rules:
            title = rule.title or rule.id
            help_text = "\n\n".join(filter(None, (rule.description, rule.remediation))) or title
            properties: Body = {"tags": [*filter(None, (rule.category,)), *rule.controls]}
            if rule.severity in _SCORES:
                properties["tags"] = ["security", *properties["tags"]]
                properties["security-severity"] = _SCORES[rule.severity]
            descriptor = {
                "id": rule.id,
                "shortDescription": {"text": title},
                "fullDescription": {"text": rule.description or title},
                "help": {"text": help_text},
                "helpUri": rule.url or SITE + (_REFUSED if rule.name or rule.kind else ""),
                "defaultConfiguration": {"level": _LEVELS[level]},
                "properties": properties,
            }
            listed_rules.append(descriptor)
        driver["rules"] = listed_rules
        head = json_text({"$schema": _SCHEMA, "version": "2.1.0"}, indent=None)
        tool = json_text({"driver": driver}, indent=None)
        yield f'{head[:-1]}, "runs": [{{"tool": {tool}, "columnKind": "unicodeCodePoints", '
        if self._options.course.is_incomplete or self._unread:
            listed = ",\n".join(self._unread)
            unread = f', "toolExecutionNotifications": [\n{listed}\n]' if listed else ""
            yield f'"invocations": [{{"executionSuccessful": false{unread}}}], '
        yield '"results": ['
        yield from self._spool.pieces(start=1)
        yield "\n]}]}\n" if self._spool.size else "]}]}\n"


writer: Final = SarifWriter


def _message(finding: Finding, subject: str) -> str:
    """Return the message, with the object, which the location alone does not name."""
    lines = [finding.message or finding.rule.id]
    if subject:
        lines[0] = f"{subject}: {lines[0]}"
    lines += [finding.hint] if finding.hint else []
    return "\n".join(lines)


def _physical(file: str, location: Location | None) -> Body:
    """Return the member of a location that has the file and line; none without a file."""
    if location is None or not file:
        return {}
    body: Body = {"artifactLocation": {"uri": _uri(file)}}
    if location.line:
        body["region"] = {"startLine": location.line, "startColumn": max(location.column, 1)}
    return {"physicalLocation": body}


@lru_cache(maxsize=1024)
def _uri(file: str) -> str:
    path = quote(file, errors="replace")
    return f"file://{path}" if file.startswith("/") else path
