"""The runner of test files: selects tests and rows, loads each file, evaluates it, checks the
expectations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from chartkit.engine import Cleaner, Phase, RunnablePolicy
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import ChartkitError, InputError
from chartkit.model import (
    Diagnostic,
    Location,
    Severity,
    Spread,
    Status,
    Track,
    unspread,
    untracked,
)
from chartkit.suggestions import suggestion
from chartkit.testing.inputs import Answers, TestInputs, ask, key_of, load_inputs
from chartkit.testing.matching import Matcher, chosen
from chartkit.testing.model import (
    AUTOGEN,
    AppliedRule,
    CaseResult,
    Expectation,
    PolicyRules,
    TestFile,
)
from chartkit.testing.reader import FILE_NAME, find_tests, read_test_file
from chartkit.testing.sources import Sources

Case = tuple[str, Path]
"""The name of a test, which is its folder, and its file."""
RULE: Final = "test"
_RESULTS: Final = tuple(map(str, Status))
_JUDGING = frozenset({Phase.VALIDATE, Phase.IMAGES})


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that any of some patterns matches; all of them without a pattern. A pattern is
    POLICY, POLICY/RULE, or the name of a test; `*` and `?` are wildcards."""

    patterns: tuple[str, ...] = ()

    def selected(self, groups: Sequence[Sequence[Case]]) -> Iterator[Sequence[Case]]:
        """Yield the cases with selected rows, and files that cannot be read; raise InputError for
        a pattern that selects nothing."""
        if not self.patterns:
            yield from groups
            return
        kept: list[list[Case]] = []
        names: set[str] = set()
        for cases in groups:
            kept.append([])
            for case, file in cases:
                try:
                    tests = read_test_file(file)
                except ChartkitError:
                    kept[-1].append((case, file))
                    continue
                for test in tests:
                    names.update(_names_of(case, test, test.expectations))
                if any(self.of(case, tests)):
                    kept[-1].append((case, file))
        for pattern in self.patterns:
            if not any(map(compile_wildcard(pattern), names)):
                hint = suggestion(pattern, names) or "name a policy, POLICY/RULE or a test's folder"
                raise InputError(f"--select {pattern} selects no result of a test", hint=hint)
        yield from kept

    def of(self, case: str, tests: Iterable[TestFile]) -> Iterator[TestFile]:
        """Yield the tests with their selected rows; none where no row is selected."""
        for test in tests:
            rows = tuple(
                row
                for row in test.expectations
                if not self.patterns
                or any(
                    any(map(compile_wildcard(pattern), _names_of(case, test, [row])))
                    for pattern in self.patterns
                )
            )
            if rows or not self.patterns:
                yield replace(test, expectations=rows, is_part=len(rows) < len(test.expectations))


def _names_of(case: str, test: TestFile, rows: Iterable[Expectation]) -> Iterator[str]:
    """Yield the names by which rows of a test can be selected."""
    yield case
    if test.name:
        yield test.name
    for row in rows:
        yield row.policy_name
        yield f"{row.policy_name}/{row.rule}"


EVERYTHING: Final = Selection()


def mistakes(inputs: TestInputs, answers: Answers) -> Iterator[Diagnostic]:
    """Yield a warning for each missing policy, rule, result and object of an expectation."""
    policies = inputs.policies
    rules = {
        policy.policy.name: [rule.name for rule in policy.policy.rules]
        for policy in policies.compiled
        if isinstance(policy.policy, Policy)
    }
    named = {*rules, *policies.refused, *policies.unevaluated}
    named |= {policy.policy.name for policy in policies.compiled}
    named |= {cleaner.name for cleaner in policies.cleaners}
    targets = [key_of(resource) for resource in inputs.targets]
    for wanted in inputs.test.expectations:
        name = wanted.policy_name
        if name not in named:
            text = f"there is no policy '{name}' among the policies of the test"
            yield _warning(wanted, text, suggestion(name, named))
        elif wanted.rule and wanted.rule not in (
            prefix + rule for prefix in AUTOGEN for rule in rules.get(name, [wanted.rule])
        ):
            text = f"policy '{name}' has no rule '{wanted.rule}': nothing is compared"
            hint = suggestion(wanted.rule, rules[name]) or f"it has {', '.join(rules[name])}"
            yield _warning(wanted, text, hint)
        if wanted.result and wanted.result not in _RESULTS:
            text = f"there is no result '{wanted.result}': nothing can come to it"
            hint = suggestion(wanted.result, _RESULTS) or f"one of {', '.join(_RESULTS)}"
            yield _warning(wanted, text, hint)
        keys = [*answers.targets, *targets, *answers.triggers[wanted.operation]]
        missing = [name for name in wanted.resources or () if not any(chosen((name,), (), keys))]
        for missing_name in missing:
            is_alone = not any(chosen(wanted.resources, wanted.specs, keys))
            effect = "every object is compared in its place" if is_alone else "it is passed over"
            text = f"there is no object '{missing_name}' among the resources: {effect}"
            yield _warning(wanted, text, suggestion(missing_name, [key[-1] for key in keys if key]))


def _warning(expectation: Expectation, text: str, hint: str | None) -> Diagnostic:
    return Diagnostic(RULE, Severity.WARNING, text, expectation.location, hint)


def run_tests(
    paths: Sequence[Path],
    file_name: str = FILE_NAME,
    track: Track = untracked,
    spread: Spread = unspread,
    selection: Selection = EVERYTHING,
) -> Iterator[CaseResult]:
    """Run the tests at and below paths, each path's sorted by folder; spread: over processes, each
    of which then reads its own policies.

    A faulty test reports its error in its result, and the others run. Raise InputError for a path
    that does not exist or holds no test, and for a selection of nothing.
    """
    sources = Sources()
    for cases in selection.selected([_cases(path, file_name) for path in paths]):
        results = spread(partial(_run_file, sources, selection), cases)
        for _, here in zip(track(cases), results, strict=True):
            yield from here


def _cases(path: Path, file_name: str) -> list[Case]:
    """Return the test files at and below a path, with the names of their tests."""
    if not path.exists():
        raise InputError("no such file or folder", Location(str(path)))
    root = path.parent if path.is_file() else path
    files = find_tests(path, file_name)
    cases = sorted((file.parent.relative_to(root).as_posix(), file) for file in files)
    if not cases:
        hint = f"name a {file_name} or a folder with one in it"
        raise InputError("holds no test", Location(str(path)), hint)
    return cases


def _run_file(sources: Sources, selection: Selection, named: Case) -> list[CaseResult]:
    case, file = named
    try:
        tests = selection.of(case, read_test_file(file))
    except ChartkitError as error:
        return [CaseResult(case, str(file), error=str(error))]
    return [run_test(test, case, sources) for test in tests]


def run_test(test: TestFile, case: str, sources: Sources) -> CaseResult:
    """Run one test; an error in its files becomes part of the result."""
    try:
        inputs = load_inputs(test, sources)
    except ChartkitError as error:
        return CaseResult(case, str(test.path), error=str(error))
    answers = ask(inputs)
    matcher = Matcher(answers, inputs.policies, test, sources)
    rows = tuple(row for wanted in test.expectations for row in matcher.rows(wanted))
    unused = [
        Diagnostic(RULE, Severity.WARNING, f"no row is about {assertion}", assertion.location)
        for assertion in test.assertions
        if assertion not in matcher.used and not test.is_part
    ]
    return CaseResult(
        case,
        str(test.path),
        rows,
        diagnostics=(*inputs.policies.diagnostics, *mistakes(inputs, answers), *unused),
        policies=(
            *map(_rules, inputs.policies.compiled),
            *map(_deletions, inputs.policies.cleaners),
        ),
        seen=tuple(
            AppliedRule(answer.policy, result.rule if answer.has_rules else "", result.status)
            for answer in answers.every()
            for result in answer.results
        ),
    )


def _rules(compiled: RunnablePolicy) -> PolicyRules:
    location = compiled.policy.resource.location
    key = (location.file, location.line, compiled.policy.name)
    names = compiled.rules_in(frozenset(Phase))
    return PolicyRules(key, names, frozenset(compiled.rules_in(_JUDGING)))


def _deletions(cleaner: Cleaner) -> PolicyRules:
    location = cleaner.resource.location
    key = (location.file, location.line, cleaner.name)
    return PolicyRules(key, ("",), frozenset({""}))
