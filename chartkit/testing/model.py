"""The types of a test file and of its result, and assertions about rows: message, action and field.

Assertions stand in an annotation, which Kyverno ignores; it refuses keys of rows that it does not
have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document, read_text
from chartkit.engine.cli_files.admissions import UserValues
from chartkit.engine.request import AUDIT, ENFORCE
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Json, Location, RuleResult, Status
from chartkit.report.model import field_text
from chartkit.suggestions import suggestion

OK = "Ok"
EXCLUDED = "Excluded"
NOT_FOUND = "Not found"
INVALID_POLICY = "Invalid Policy"
NOT_EVALUATED = "Not evaluated"
RESOURCE_DIFF = "Resource diff"
RESOURCE_ERROR = "Resource error"
ANNOTATION: Final = "chartkit.dev/assert"
_PATH: Final = ("metadata", "annotations", ANNOTATION)
_SELECTING: Final = ("policy", "rule", "resource")
_ASSERTED: Final = ("message", "action", "field")
_ACTIONS: Final = (AUDIT, ENFORCE)
AUTOGEN: Final = ("", "autogen-", "autogen-cronjob-")
"""The beginnings of the names of a rule and of its forms for pod controllers."""


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """An object named in full; group and namespace may be empty."""

    group: str
    version: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """One item of a test file's `results`.

    policy: `name` or `namespace/name`; rule: empty for all of the policy's rules; result: the
    expected status, as written; resources: `name` or `namespace/name`, None without such a list;
    patched, generated: files with expected objects; clone_source: a file with the source of a
    generate rule; fail_on_missing: whether an object that is not in its file is a failure
    (otherwise it is skipped); operation: empty, CREATE, UPDATE or DELETE.
    """

    policy: str
    rule: str
    result: str
    location: Location
    resources: tuple[str, ...] | None = None
    specs: tuple[ResourceSpec, ...] = ()
    patched: str = ""
    generated: tuple[str, ...] = ()
    clone_source: str = ""
    fail_on_missing: bool = False
    operation: str = ""

    @property
    def policy_name(self) -> str:
        """The policy's name without its namespace."""
        return self.policy.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class TestFile:
    """One document of a test file (kind Test of cli.kyverno.io/v1alpha1); paths as written.

    params: parameters of admission policies; payloads: plain JSON; other_payloads: requests of HTTP
    and Envoy; context: objects and images for CEL policies; assertions: chartkit's own;
    is_part: whether rows of the file were left out.
    """

    __test__ = False

    path: Path
    name: str
    location: Location
    policies: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    payloads: tuple[str, ...] = ()
    other_payloads: tuple[str, ...] = ()
    context: str = ""
    exceptions: tuple[str, ...] = ()
    cluster_resources: tuple[str, ...] = ()
    variables: str = ""
    values: UserValues | None = None
    user_info: str = ""
    api_calls: tuple[Body, ...] = ()
    global_entries: tuple[Body, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    is_part: bool = False

    @property
    def folder(self) -> Path:
        """The folder that its paths are relative to."""
        return self.path.parent


class Verdict(StrEnum):
    """The verdict on a row, in the words of Kyverno's test command."""

    PASS = "Pass"
    FAIL = "Fail"
    SKIP = "Skip"


@dataclass(frozen=True, slots=True)
class Golden:
    """A file that has another object than a policy makes, or none; body: what the policy makes."""

    file: Path
    body: Body


@dataclass(frozen=True, slots=True)
class Row:
    """One object and one rule of an expectation.

    verdict: whether the result is the expected one; reason: why (`Ok`, `Want pass, got fail` …);
    message: the engine's own; wanted, got: the statuses, got empty without a result; location: that
    of the expectation; golden: the file whose object differs, where nothing else is wrong.
    """

    policy: str
    rule: str
    resource: str
    verdict: Verdict
    reason: str
    message: str
    wanted: str
    got: str
    location: Location
    golden: Golden | None = None


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """An applied rule: its policy, its name, and its status for one object."""

    policy: str
    rule: str
    status: Status


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """A policy that a case loads. key: its file, line and name; rules: those written in it, or one
    without a name; judging: those that can fail (validation and images)."""

    key: tuple[str, int, str]
    rules: tuple[str, ...]
    judging: frozenset[str]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a test file.

    case: its folder relative to what the user named; path: of the file, as messages name it; error:
    why it could not be run (then there are no rows); diagnostics: policies that could not be
    loaded; policies, seen: for coverage.
    """

    case: str
    path: str
    rows: tuple[Row, ...] = ()
    error: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    policies: tuple[PolicyRules, ...] = ()
    seen: tuple[AppliedRule, ...] = field(default=(), repr=False)

    @property
    def failed(self) -> int:
        """The number of failed rows."""
        return sum(row.verdict is Verdict.FAIL for row in self.rows)

    @property
    def exit_code(self) -> int:
        """0 if every result is the expected one, else 1."""
        return 1 if self.error or self.failed else 0


def written_rule(rule: str, own: Collection[str]) -> str:
    """Return a rule's name as its policy has it, in place of its forms for pod controllers;
    empty in a policy whose rules have no names."""
    # The longest prefix first.
    names = (rule.removeprefix(prefix) for prefix in ("", *reversed(AUTOGEN)))
    return next((name for name in names if name in own), "" if "" in own else rule)


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion about the rows of a policy, and of a rule and an object where it names them.

    message: a part of the message, or with wildcards a pattern of the whole; field: as reports
    show it, `spec.containers[0].image`, wildcards are allowed. What is empty is not asserted.
    """

    policy: str
    rule: str
    resource: str
    message: str
    action: str
    field: str
    location: Location

    def concerns(self, policy: str, rule: str, resource: Sequence[str]) -> bool:
        """Report whether it is about a result; rule: its name, perhaps of a rule for pod
        controllers; resource: apiVersion, kind, namespace and name."""
        parts = self.resource.split("/") if self.resource else []
        names = {f"{prefix}{self.rule}" for prefix in AUTOGEN}
        return (
            compile_wildcard(self.policy)(policy)
            and (not self.rule or any(compile_wildcard(name)(rule) for name in names))
            and list(resource[len(resource) - len(parts) :]) == parts
        )

    def __str__(self) -> str:
        name = "/".join(filter(None, (self.policy, self.rule)))
        return f"{name} and {self.resource}" if self.resource else name

    def fault(self, result: RuleResult, body: Json, action: Callable[[str], str]) -> str:
        """Return the difference from the assertion; empty if it holds. body: the object;
        action: the action of a rule, by its name."""
        message = self.message if has_wildcard(self.message) else f"*{self.message}*"
        if self.message and not compile_wildcard(message)(result.message):
            return f"Want message '{self.message}'"
        if self.action and (actual := action(result.rule)) != self.action:
            return f"Want action {self.action}, got {actual}"
        fields = [field_text(pointer, body) for pointer in result.fields]
        if self.field and not any(map(compile_wildcard(self.field), fields)):
            return f"Want field {self.field}, got {', '.join(fields) or 'none'}"
        return ""


def read_assertions(document: Document) -> Iterator[Assertion]:
    """Yield the assertions of a test; raise InputError for anything else."""
    metadata = document.body.get("metadata") or {}
    text = (metadata.get("annotations") or {}).get(ANNOTATION)
    if not text:
        return
    try:
        (inner,) = read_text(text)
    except (InputError, ValueError):
        raise InputError(f"{ANNOTATION} must be a list in YAML", document.locate(*_PATH)) from None
    for index, item in enumerate(inner.body if isinstance(inner.body, list) else [inner.body]):
        place = inner.locate(index)
        above = text.splitlines(keepends=True)[: place.line - 1]
        offset = sum(map(len, above)) + max(place.column - 1, 0)
        location = document.character(offset, *_PATH)
        names = (*_SELECTING, *_ASSERTED)
        if not isinstance(item, dict):
            raise InputError(f"an item of {ANNOTATION} must be a mapping", location)
        for key, value in item.items():
            if key not in names:
                hint = suggestion(str(key), names) or f"known are {', '.join(names)}"
                raise InputError(f"unknown key '{key}' in {ANNOTATION}", location, hint)
            if not isinstance(value, str):
                raise InputError(f"'{key}' in {ANNOTATION} must be a text", location)
        if not item.get("policy"):
            raise InputError(f"an item of {ANNOTATION} names no policy", location)
        if not any(item.get(key) for key in _ASSERTED):
            hint = f"add one of {', '.join(_ASSERTED)}"
            raise InputError(f"an item of {ANNOTATION} asserts nothing", location, hint)
        action = item.get("action") or ""
        if action and action not in _ACTIONS:
            message = f"there is no action '{action}'"
            raise InputError(message, location, f"one of {AUDIT}, {ENFORCE}")
        texts = {key: item.get(key) or "" for key in names}
        yield Assertion(**texts, location=location)
