"""Runs test files: loads each, asks the engine, checks what is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from chartkit.engine.compile import PHASES, CompiledPolicy
from chartkit.engine.evaluate import PolicyResponse, respond
from chartkit.engine.phase import Phase
from chartkit.errors import ChartkitError, InputError
from chartkit.model import Location, Resource
from chartkit.testing.matching import Answers, Key, Matcher, Target, key_of
from chartkit.testing.model import CaseResult, PolicyRules, RuleSeen, TestFile
from chartkit.testing.reader import FILE_NAME, find_tests, read_test_file
from chartkit.testing.sources import Sources
from chartkit.testing.world import World, load_world

_JUDGING = frozenset({Phase.VALIDATE, Phase.IMAGES})


def run_tests(
    paths: Sequence[Path], file_name: str = FILE_NAME, sources: Sources | None = None
) -> Iterator[CaseResult]:
    """Runs the tests at and below paths, each path's sorted by folder.

    What is wrong with one test is said in its result, and the others run. Raises InputError for a
    path that is not there or holds no test.
    """
    sources = sources or Sources()
    for path in paths:
        if not path.exists():
            raise InputError("no such file or folder", Location(str(path)))
        root = path.parent if path.is_file() else path
        found = sorted(find_tests(path, file_name), key=lambda file: _case_name(file, root))
        if not found:
            hint = f"name a {file_name} or a folder with one in it"
            raise InputError("holds no test", Location(str(path)), hint)
        for file in found:
            yield from _run_file(file, _case_name(file, root), sources)


def _case_name(file: Path, root: Path) -> str:
    return file.parent.relative_to(root).as_posix()


def _run_file(file: Path, case: str, sources: Sources) -> Iterator[CaseResult]:
    try:
        tests = read_test_file(file)
    except ChartkitError as error:
        yield CaseResult(case, file, error=str(error))
        return
    for test in tests:
        yield run_test(test, case, sources)


def run_test(test: TestFile, case: str, sources: Sources) -> CaseResult:
    """Runs one test; never raises for what its files hold."""
    try:
        world = load_world(test, sources)
    except ChartkitError as error:
        return CaseResult(case, test.path, error=str(error))
    answers = _answers(world)
    matcher = Matcher(answers, world.policies, test.folder, sources)
    rows = tuple(row for wanted in test.expectations for row in matcher.rows(wanted))
    return CaseResult(
        case,
        test.path,
        rows,
        diagnostics=world.policies.diagnostics,
        policies=tuple(map(_rules, world.policies.compiled)),
        seen=tuple(_seen(answers)),
    )


def _answers(world: World) -> Answers:
    operations = {"", *(wanted.operation for wanted in world.test.expectations)}
    triggers = {operation: _responses(world, operation) for operation in sorted(operations)}
    given = [one for responses in triggers.values() for one in _flat(responses.values())]
    targets: dict[Key, list[Target]] = {}
    for resource in world.targets:
        found = [_changed(resource, response) for response in given]
        if any(found):
            targets[key_of(resource)] = [target for target in found if target is not None]
    return Answers(triggers, targets)


def _changed(resource: Resource, response: PolicyResponse) -> Target | None:
    """What a policy made of an existing object; None where it left it alone."""
    for result in response.results:
        if result.patched_target is not None:
            changed = Resource(result.patched_target)
            if key_of(changed) == key_of(resource):
                return Target(response, result, changed)
    return None


def _responses(world: World, operation: str) -> dict[Key, list[PolicyResponse]]:
    return {
        key_of(resource): respond(
            world.policies.compiled, world.admissions.request(resource, operation), world.lookups
        )
        for resource in world.resources
    }


def _seen(answers: Answers) -> Iterator[RuleSeen]:
    for responses in answers.triggers.values():
        for response in _flat(responses.values()):
            for result in response.results:
                yield RuleSeen(response.policy.policy.name, result.rule, result.status)


def _flat(groups: Iterable[Sequence[PolicyResponse]]) -> Iterator[PolicyResponse]:
    for group in groups:
        yield from group


def _rules(compiled: CompiledPolicy) -> PolicyRules:
    policy = compiled.policy
    place = policy.resource.location
    return PolicyRules(
        (place.file, place.line, policy.name),
        tuple(rule.name for rule in policy.rules),
        frozenset(rule.name for rule in policy.rules if PHASES[rule.kind] in _JUDGING),
    )
