"""The policies' own good and bad resources, judged with an environment's settings.

An example shows what a policy does at certain parameter values: the policy is rendered with the
environment's action, exclusions and Kyverno version, and with those values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path

from chartkit.chart.library import Examples, Library, LibraryPolicy
from chartkit.chart.render import Rendered
from chartkit.checks.compiled import compiled_set
from chartkit.checks.model import Row, rows
from chartkit.checks.subject import Subject
from chartkit.documents import read_file, resources
from chartkit.engine.compile import CompiledPolicy
from chartkit.engine.evaluate import evaluate
from chartkit.engine.kinds import in_namespace
from chartkit.engine.request import Request
from chartkit.model import Body, Diagnostic, Resource, RuleResult, Severity, Status
from chartkit.scan.policies import is_policy

_HIDDEN = (
    "an exclusion may hide it; one by names or selector turns Kyverno's rules for pod controllers "
    "off: exclude namespaces"
)
_BAD = frozenset({Status.FAIL, Status.ERROR, Status.WARN})


def examples(subject: Subject, library: Library) -> Iterable[Row]:
    """Do the policies' own good and bad resources come out right?"""
    rendered = [each.name for each in subject.policies.rendered.resources if is_policy(each)]
    policies = [library.policies[name] for name in rendered if name in library.policies]
    found: list[Diagnostic] = []
    count = 0
    rounds = [(each, _render(subject, each)) for each in _rounds(policies)]
    for round_, rendering in rounds:
        compiled = _compiled(rendering.result(), round_)
        for policy, example in round_:
            for resource, expected_bad in _resources(example):
                count += 1
                found.extend(_judge(policy, compiled.get(policy.name), resource, expected_bad))
    place = subject.policies.values.location
    right = f"{count} examples of {len(policies)} policies come out right"
    return rows(subject.environment.name, "examples", found, right, place)


_Round = list[tuple[LibraryPolicy, Examples]]


def _rounds(policies: Sequence[LibraryPolicy]) -> Iterator[_Round]:
    """Every policy's first examples, every policy's second …: one render each."""
    for index in range(max((len(policy.examples) for policy in policies), default=0)):
        yield [
            (policy, policy.examples[index]) for policy in policies if index < len(policy.examples)
        ]


def _render(subject: Subject, round_: _Round) -> Future[Rendered]:
    parameters: Body = {
        policy.name: {"parameters": {**policy.defaults, **example.parameters}}
        for policy, example in round_
        if policy.parameters
    }
    return subject.policies.render({"policies": parameters} if parameters else {})


def _compiled(rendered: Rendered, round_: _Round) -> Mapping[str, CompiledPolicy]:
    wanted = {policy.name for policy, _ in round_}
    found = [each for each in rendered.resources if is_policy(each) and each.name in wanted]
    return {each.policy.name: each for each in compiled_set(found).policies}


def _judge(
    policy: LibraryPolicy, compiled: CompiledPolicy | None, resource: Resource, expected_bad: bool
) -> Iterator[Diagnostic]:
    results = evaluate([compiled], Request(in_namespace(resource))) if compiled else []
    bad = [each for each in results if each.status in _BAD]
    if bool(bad) == expected_bad:
        return
    said = _said(bad)
    message = f"{policy.name} {said if bad else 'says nothing'} of its {_which(expected_bad)} "
    message += f"example {resource.kind} {resource.name}"
    hint = _HIDDEN if expected_bad else None
    yield Diagnostic(policy.name, Severity.ERROR, message, resource.location, hint)


def _which(bad: bool) -> str:
    return "bad" if bad else "good"


def _said(results: Sequence[RuleResult]) -> str:
    return f"says '{' '.join(results[0].message.split())}'" if results else ""


def _resources(example: Examples) -> Iterator[tuple[Resource, bool]]:
    for file, bad in ((example.good, False), (example.bad, True)):
        for resource in _read(file) if file is not None else ():
            yield resource, bad


@lru_cache(maxsize=512)
def _read(file: Path) -> tuple[Resource, ...]:
    return tuple(resources(read_file(file)))
