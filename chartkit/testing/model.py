"""The types of a test file and of its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from chartkit.engine.cli_files.admissions import UserValues
from chartkit.model import Body, Diagnostic, Location, Status
from chartkit.testing.assertions import Assertion


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


OK = "Ok"
EXCLUDED = "Excluded"
NOT_FOUND = "Not found"
INVALID_POLICY = "Invalid Policy"
NOT_EVALUATED = "Not evaluated"
RESOURCE_DIFF = "Resource diff"
RESOURCE_ERROR = "Resource error"


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


def ruleless(key: tuple[str, int, str], is_judging: bool) -> PolicyRules:
    """Return a policy that is one rule without a name."""
    return PolicyRules(key, ("",), frozenset({""} if is_judging else ()))


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
