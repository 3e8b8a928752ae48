"""The rows of a test's expectations, from the engine's answers.

Selection of objects and rules, and rows for an expectation without any, follow Kyverno's
`commands/test` (`printTestResult`, `checkResult`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final

from chartkit.documents.yaml_dump import yaml_diff
from chartkit.errors import InputError
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, same
from chartkit.testing.inputs import Answer, Answers, Key
from chartkit.testing.model import (
    AUTOGEN,
    EXCLUDED,
    INVALID_POLICY,
    NOT_EVALUATED,
    NOT_FOUND,
    OK,
    RESOURCE_DIFF,
    RESOURCE_ERROR,
    Assertion,
    Expectation,
    Golden,
    ResourceSpec,
    Row,
    TestFile,
    Verdict,
)
from chartkit.testing.sources import Policies, Sources

MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "kyverno"}
GENERATE: Final = "generate.kyverno.io/"
_PATCHED: Final = "PatchedResources"


def find_expected(actual: Resource, candidates: Sequence[Resource]) -> Resource | None:
    """Return the candidate of the same version, kind, namespace and name; None if all differ."""
    identity = attrgetter("api_version", "kind", "namespace", "name")
    return next((row for row in candidates if identity(row) == identity(actual)), None)


def differs(actual: Body, expected: Body) -> str:
    """Return the difference as a unified diff of YAML; empty for equal objects."""
    got, wanted = _compared(actual), _compared(expected)
    if same(got, wanted):
        return ""
    return "\n".join(yaml_diff(wanted, got, "wanted", "got"))


def _is_text(value: Json) -> bool:
    return value is None or isinstance(value, str)


def _compared(body: Body) -> Body:
    """The fields of an object to compare; Kyverno ignores labels that are not all strings."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    labels = metadata.get("labels")
    texts = labels if isinstance(labels, dict) and all(map(_is_text, labels.values())) else {}
    kept = {key: value or "" for key, value in texts.items() if not key.startswith(GENERATE)}
    labelled = {**body, "metadata": {**metadata, "labels": {**MANAGED_BY, **kept}}}
    tidied: Body = without_empty(labelled)
    return tidied


def without_empty(value: Json) -> Json:
    """Return a value without its empty mappings, lists and nulls; None for one that is empty."""
    if isinstance(value, dict):
        entries = {key: without_empty(entry) for key, entry in value.items()}
        return {key: entry for key, entry in entries.items() if entry is not None} or None
    if isinstance(value, list):
        return [entry for entry in map(without_empty, value) if entry is not None] or None
    return value


@dataclass(frozen=True, slots=True)
class Matcher:
    """A check of one test's expectations. used: the assertions that were about a result."""

    answers: Answers
    policies: Policies
    test: TestFile
    sources: Sources
    used: set[Assertion] = field(default_factory=set)

    def rows(self, expectation: Expectation) -> Iterator[Row]:
        """Yield the rows of an expectation, in the order of the objects."""
        given = self.answers.triggers[expectation.operation]
        keys = [*self.answers.targets, *given]
        named = list(chosen(expectation.resources, expectation.specs, keys))
        for key in named or keys:
            rows: list[Row] = []
            is_passed_over = False
            for answer in given.get(key, ()):
                if answer.policy != expectation.policy_name:
                    continue
                for row in self._checked(expectation, key, answer):
                    if row is None:
                        is_passed_over = True
                    else:
                        rows.append(row)
                if not rows and not is_passed_over:
                    rows.append(_row(expectation, _shown(key), Verdict.PASS, EXCLUDED, EXCLUDED))
            for target in self.answers.targets.get(key, ()):
                fault = self._compared(target.resource, _wanted_files(expectation))
                row = _answered(expectation, _shown(key), target.result, fault)
                rows.append(self._asserted(row, key, target.answer, target.result))
            if not rows and not is_passed_over:
                rows.append(self._unanswered(expectation, key))
            yield from rows

    def _checked(self, expectation: Expectation, key: Key, answer: Answer) -> Iterator[Row | None]:
        """Yield a row for every result; None for an object that is not in its file."""
        if not (expectation.rule and answer.has_rules):
            results: list[RuleResult] = list(answer.results)
        else:
            names = {prefix + expectation.rule for prefix in AUTOGEN}
            results = [result for result in answer.results if result.rule in names]
        for result in results:
            if result.type is RuleType.GENERATION:
                if not result.generated:
                    row = _answered(expectation, _shown(key), result, None)
                    yield self._asserted(row, key, answer, result)
                for body in result.generated:
                    actual = Resource(body)
                    fault = self._compared(actual, _wanted_files(expectation))
                    row = _answered(expectation, f"/{actual.name}", result, fault)
                    yield self._asserted(row, key, answer, result)
                continue
            is_mutation = result.type is RuleType.MUTATION
            actual = answer.patched if is_mutation else answer.resource
            fault = self._compared(actual, _wanted_files(expectation))
            if fault and fault.is_missing and not expectation.fail_on_missing:
                yield None
            else:
                row = _answered(expectation, _shown(key), result, fault)
                yield self._asserted(row, key, answer, result)

    def _asserted(self, row: Row, key: Key, answer: Answer, result: RuleResult) -> Row:
        """Return a row that fails where a result is not as the test asserts."""
        for assertion in self.test.assertions:
            if not assertion.concerns(answer.policy, result.rule, key):
                continue
            self.used.add(assertion)
            fault = assertion.fault(result, answer.resource.body, answer.action)
            if fault and row.verdict is Verdict.PASS:
                row = replace(row, verdict=Verdict.FAIL, reason=fault, location=assertion.location)
        return row

    def _compared(self, actual: Resource, wanted: Sequence[tuple[str, str]]) -> _Fault | None:
        """Return the fault of an object; if several files have generated objects, one of them must
        match."""
        faults: list[_Fault] = []
        for key, name in wanted:
            fault = self._against(actual, key, name)
            if key == _PATCHED:
                if fault:
                    return fault
            elif fault is None:
                return None
            else:
                faults.append(fault)
        return next(
            (fault for fault in faults if fault.reason == RESOURCE_DIFF), next(iter(faults), None)
        )

    def _against(self, actual: Resource, key: str, name: str) -> _Fault | None:
        path = self.test.folder / name
        try:
            candidates = self.sources.objects(path)
        except InputError as error:
            golden = None if path.exists() else Golden(path, actual.body)
            text = f"error: failed to load {key} resource ({error})"
            return _Fault(RESOURCE_ERROR, text, golden=golden)
        expected = find_expected(actual, candidates)
        if expected is None:
            text = f"resource with name {actual.name} not found in manifest"
            text = f"error: failed to load {key} resource ({text})"
            return _Fault(RESOURCE_ERROR, text, True, Golden(path, actual.body))
        difference = differs(actual.body, expected.body)
        if not difference:
            return None
        message = f"the object is not the one in {name}\n{difference}"
        return _Fault(RESOURCE_DIFF, message, golden=Golden(path, actual.body))

    def _unanswered(self, expectation: Expectation, key: Key) -> Row:
        name, policies = expectation.policy_name, self.policies
        verdict, reason, message = Verdict.FAIL, NOT_FOUND, NOT_FOUND
        if name in policies.refused:
            verdict, reason, message = Verdict.SKIP, INVALID_POLICY, policies.refused[name]
        elif name in policies.unevaluated:
            reason, message = NOT_EVALUATED, f"{policies.unevaluated[name]} are not evaluated yet"
        return _row(expectation, _shown(key), verdict, reason, message)


@dataclass(frozen=True, slots=True)
class _Fault:
    reason: str
    message: str
    is_missing: bool = False
    golden: Golden | None = None


def _wanted_files(expectation: Expectation) -> list[tuple[str, str]]:
    """Return the files with objects to compare, each with its field's name."""
    patched = [(_PATCHED, expectation.patched)] if expectation.patched else []
    field = "GeneratedResource" if len(expectation.generated) == 1 else "GeneratedResources"
    return patched + [(field, name) for name in expectation.generated]


def chosen(
    names: Sequence[str] | None, specs: Sequence[ResourceSpec], keys: Sequence[Key]
) -> Iterator[Key]:
    """Yield the existing objects that an expectation names; names: its `resources`."""
    if names is None:
        return
    for text in names:
        parts = text.split("/")
        if len(parts) <= 2:
            yield from (key for key in keys if list(key[-len(parts) :]) == parts)
    for spec in specs:
        version = f"{spec.group}/{spec.version}" if spec.group else spec.version
        wanted = (version, spec.namespace, spec.name)
        yield from (key for key in keys if (key[0], *key[2:]) == wanted)


def _answered(
    expectation: Expectation, resource: str, result: RuleResult, fault: _Fault | None
) -> Row:
    got = str(result.status)
    verdict, reason, message = Verdict.PASS, OK, result.message
    if fault is not None:
        verdict, reason, message = Verdict.FAIL, fault.reason, fault.message
    elif got != expectation.result:
        verdict, reason = Verdict.FAIL, f"Want {expectation.result}, got {got}"
    golden = fault.golden if fault is not None and got == expectation.result else None
    row = _row(expectation, resource, verdict, reason, message)
    return replace(row, rule=result.rule, got=got, golden=golden)


def _row(
    expectation: Expectation, resource: str, verdict: Verdict, reason: str, message: str
) -> Row:
    # `name` or `namespace/name` without the rest
    policy = "/".join(expectation.policy.split("/")[:2])
    wanted, location = expectation.result, expectation.location
    return Row(policy, expectation.rule, resource, verdict, reason, message, wanted, "", location)


def _shown(key: Key) -> str:
    """Return `apiVersion/kind/namespace/name`, or `/name` of a payload."""
    return f"{'/'.join(key[:-1])}/{key[-1]}"
