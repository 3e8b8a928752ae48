"""Failures whose fields are judged: of the library's bad examples in every form, and of recorded
facts where they are there."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file, resources
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.engine.policies import RunnablePolicy, compile_any, evaluate, is_policy, sorted_out
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Request, as_submitted
from chartkit.errors import ChartkitError
from chartkit.library.policies import Examples, FolderPolicy
from chartkit.model import Body, Resource, RuleResult
from chartkit.scan.verdicts import example_world
from chartkit.testing.inputs import TestInputs, load_inputs
from chartkit.testing.reader import find_tests, read_test_file
from chartkit.testing.sources import Sources
from tests.conformance.engine import read_cases
from tests.conformance.engine_policies import resource_of
from tests.conformance.field_changes import Failure, Judge, failures
from tests.policy_forms import ALL, compiled, render_for
from tests.policy_library import read

REAL: Final = tuple(
    f"{name}{form}" for name in ("pod-security", "best-practices") for form in ("", "-cel", "-vpol")
)
"""The folders of the public library that real manifests are judged by."""
RECORDED: Final = ("patterns", "podsecurity", "match", "variables", "cel-policies")
"""The recorded cases of the engine."""


def of_library(form: str, policies: Iterable[FolderPolicy] | None = None) -> Iterator[Failure]:
    """Yield the failures of the bad examples of the project's own policies in a form."""
    for policy in ALL if policies is None else policies:
        for examples in policy.examples:
            yield from _of_examples(form, policy, examples)


def _of_examples(form: str, policy: FolderPolicy, examples: Examples) -> Iterator[Failure]:
    made = render_for(form, policy, examples)
    chosen = compiled(made)
    accepted = [each.body for each in read(examples.good)]
    for each in read(examples.bad):
        judge = _judge(chosen, each, example_world(each))
        yield from failures(judge, each.body, [one.body for one in made], accepted)


def _judge(policies: Sequence[RunnablePolicy], resource: Resource, world: World) -> Judge:
    def judge(body: Body) -> list[RuleResult]:
        return evaluate(policies, Request(in_namespace(Resource(body, resource.location))), world)

    return judge


def of_real(shared: Path, folders: Sequence[str] = REAL) -> Iterator[Failure]:
    """Yield the failures of real manifests under policies of folders of the public library."""
    objects = [
        as_submitted(one)
        for file in sorted((shared / "real").glob("*.yaml"))
        for one in resources(read_file(file))
    ]
    for folder in folders:
        for policy, body in _policies(shared / "conformance" / "policy-library" / folder):
            for each in objects:
                yield from failures(_judge((policy,), each, OFFLINE), each.body, [body], ())


@cache
def _policies(folder: Path) -> tuple[tuple[RunnablePolicy, Body], ...]:
    found = []
    for path in sorted(folder.rglob("*.yaml")):
        if path.name == "kyverno-test.yaml" or any(part.startswith(".") for part in path.parts):
            continue
        for resource in filter(is_policy, resources(read_file(path))):
            admitting, _ = sorted_out([compile_any(resource)])
            found += [(each, resource.body) for each in admitting]
    return tuple(found)


def of_tests(root: Path) -> Iterator[Failure]:
    """Yield the failures of the objects in test files of Kyverno's command-line program."""
    sources = Sources()
    for file in find_tests(root):
        try:
            tests = [load_inputs(test, sources) for test in read_test_file(file)]
        except ChartkitError:
            continue
        for inputs in tests:
            yield from _of_inputs(inputs)


def _of_inputs(inputs: TestInputs) -> Iterator[Failure]:
    operations = sorted({"", *(wanted.operation for wanted in inputs.test.expectations)})
    for policy in inputs.policies.compiled:
        bodies = [policy.policy.resource.body]
        for resource in inputs.resources:
            for operation in operations:
                judge = _asking(inputs, policy, resource, operation)
                accepted = [one.body for one in inputs.resources if one is not resource]
                yield from failures(judge, resource.body, bodies, accepted)


def _asking(
    inputs: TestInputs, policy: RunnablePolicy, resource: Resource, operation: str
) -> Judge:
    def judge(body: Body) -> list[RuleResult]:
        changed = Resource(body, resource.location)
        request = inputs.admissions.request(changed, operation)
        return evaluate([policy], request, inputs.world)

    return judge


def of_cases(folder: Path, name: str) -> Iterator[Failure]:
    """Yield the failures of recorded cases of the engine: policies and objects without values."""
    for case in read_cases(folder / f"{name}.jsonl"):
        bodies = list(case.get("policies") or [case["policy"]]) if "resources" in case else []
        if not bodies or case.get("values") or case.get("set") or case.get("exceptions"):
            continue
        try:
            made = [compile_any(resource_of(one)) for one in bodies]
        except ChartkitError:
            continue
        policies, _ = sorted_out(made)
        for body in case["resources"]:
            resource = as_submitted(resource_of(body))
            judge = _judge(policies, resource, OFFLINE)
            yield from failures(judge, resource.body, bodies, case["resources"])
