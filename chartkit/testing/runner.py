"""The runner of test files: loads each, evaluates it, checks the expectations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from chartkit.engine import Cleaner, Phase, RunnablePolicy
from chartkit.errors import ChartkitError, InputError
from chartkit.model import Location, Spread, Track, unspread, untracked
from chartkit.testing.answers import ask
from chartkit.testing.inputs import load_inputs
from chartkit.testing.matching import Matcher
from chartkit.testing.mistakes import mistakes
from chartkit.testing.model import AppliedRule, CaseResult, PolicyRules, TestFile, ruleless
from chartkit.testing.reader import FILE_NAME, find_tests, read_test_file
from chartkit.testing.sources import Sources

_JUDGING = frozenset({Phase.VALIDATE, Phase.IMAGES})


def run_tests(
    paths: Sequence[Path],
    file_name: str = FILE_NAME,
    track: Track = untracked,
    spread: Spread = unspread,
) -> Iterator[CaseResult]:
    """Run the tests at and below paths, each path's sorted by folder; spread: over processes, each
    of which then reads its own policies.

    A faulty test reports its error in its result, and the others run. Raise InputError for a path
    that does not exist or holds no test.
    """
    sources = Sources()
    for path in paths:
        if not path.exists():
            raise InputError("no such file or folder", Location(str(path)))
        root = path.parent if path.is_file() else path
        found = sorted(find_tests(path, file_name), key=lambda file: _case_name(file, root))
        if not found:
            hint = f"name a {file_name} or a folder with one in it"
            raise InputError("holds no test", Location(str(path)), hint)
        cases = [(file, _case_name(file, root)) for file in found]
        results = spread(partial(_run_file, sources), cases)
        for _, here in zip(track(cases), results, strict=True):
            yield from here


def _case_name(file: Path, root: Path) -> str:
    return file.parent.relative_to(root).as_posix()


def _run_file(sources: Sources, named: tuple[Path, str]) -> list[CaseResult]:
    file, case = named
    try:
        tests = read_test_file(file)
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
    matcher = Matcher(answers, inputs.policies, test.folder, sources)
    rows = tuple(row for wanted in test.expectations for row in matcher.rows(wanted))
    return CaseResult(
        case,
        str(test.path),
        rows,
        diagnostics=(*inputs.policies.diagnostics, *mistakes(inputs, answers)),
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
    place = compiled.policy.resource.location
    key = (place.file, place.line, compiled.policy.name)
    names = compiled.rules_in(frozenset(Phase))
    return PolicyRules(key, names, frozenset(compiled.rules_in(_JUDGING)))


def _deletions(cleaner: Cleaner) -> PolicyRules:
    place = cleaner.resource.location
    return ruleless((place.file, place.line, cleaner.name), is_judging=True)
