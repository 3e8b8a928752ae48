"""The policies' own good and bad resources, judged with an environment's settings.

An example shows what a policy does at certain parameter values: the policy is rendered with the
environment's action, exclusions and Kyverno version, and with those values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from chartkit.chart.library import (
    BAD_FILE,
    GOOD_FILE,
    POLICY_FILE,
    Examples,
    LibraryPolicy,
)
from chartkit.chart.render import Rendered
from chartkit.checks.compiled import compiled_set
from chartkit.checks.model import Outcome, Row, counted, rows
from chartkit.checks.part import part_of
from chartkit.checks.subject import Subject
from chartkit.documents import read_file, resources
from chartkit.engine.kinds import in_namespace
from chartkit.engine.policies import is_policy
from chartkit.engine.values.wildcard import compile_wildcard
from chartkit.model import Body, Diagnostic, Location, Resource, Severity
from chartkit.scan.policies import PolicySet
from chartkit.scan.surroundings import around
from chartkit.scan.verdicts import judge

Patterns: TypeAlias = tuple[str, ...]
"""Names of namespaces, with wildcards."""

_HIDDEN = (
    "an exclusion may hide it; one by names or selector turns Kyverno's rules for pod controllers "
    "off: exclude namespaces"
)

_NAMED = 4
"""How many examples a line names."""


def examples(subject: Subject, carried: Sequence[LibraryPolicy]) -> Iterable[Row]:
    """Do the policies' own good and bad resources come out right?

    carried: the policies of the chart; those without metadata.yaml have no examples.
    """
    rendered = [each.name for each in subject.policies.rendered.resources if is_policy(each)]
    known = {each.name: each for each in carried if each.plain is None}
    policies = [known[name] for name in rendered if name in known]
    found: list[Diagnostic] = []
    judged: list[str] = []
    left_out = {each.name: _left_out(subject, each) for each in policies}
    rounds = [(each, render(subject)) for each, render in _rounds(subject, policies)]
    for round_, future in rounds:
        compiled = _compiled(future.result(), round_)
        for policy, example in round_:
            for file, expected_bad in ((example.good, False), (example.bad, True)):
                if file is not None:
                    hidden = left_out[policy.name] if expected_bad else ()
                    judged += [policy.name] * len(_shown(file, hidden))
                    found += _judged(policy.name, compiled[policy.name], file, hidden, expected_bad)
    place = subject.policies.values.location
    found.extend(_without_examples(each) for each in policies if each.name not in judged)
    shown = counted(len(judged), "example", "examples")
    right = f"{shown} of {counted(len(set(judged)), 'policy', 'policies')} come out right"
    return rows(subject.environment.name, "examples", found, right, place)


def without_examples(subject: Subject) -> Iterable[Row]:
    """A note where the policies are those of upstream's own chart."""
    place = subject.policies.values.location
    message = "upstream's policies have no examples: chartkit's library alone has them"
    yield Row(subject.environment.name, "examples", Outcome.NOTE, message, place)


def _without_examples(policy: LibraryPolicy) -> Diagnostic:
    message = f"policy {policy.name} has no examples, and nothing shows what it does"
    place = Location(str(policy.folder / POLICY_FILE), 1)
    hint = f"put objects that it accepts into {GOOD_FILE} beside it, and others into {BAD_FILE}"
    return Diagnostic("examples", Severity.NOTE, message, place, hint)


_Round = Sequence[tuple[LibraryPolicy, Examples]]
_Rendering = Callable[[Subject], Future[Rendered]]


def _rounds(
    subject: Subject, policies: Sequence[LibraryPolicy]
) -> Iterator[tuple[_Round, _Rendering]]:
    """Examples that one render serves: those at the environment's own values first, then every
    policy's first other ones, its second …"""
    values = subject.policies.lint_subject().values
    own = [
        (policy, example)
        for policy in policies
        for example in policy.examples
        if _wanted(policy, example) == _effective(policy, values)
    ]
    yield own, lambda given: given.policies.rendering
    others = [
        [example for example in policy.examples if (policy, example) not in own]
        for policy in policies
    ]
    for index in range(max(map(len, others), default=0)):
        round_ = [
            (policy, examples[index])
            for policy, examples in zip(policies, others, strict=True)
            if index < len(examples)
        ]
        yield round_, partial(_render, round_, policies)


def _wanted(policy: LibraryPolicy, example: Examples) -> Body:
    return {**policy.defaults, **example.parameters}


def _effective(policy: LibraryPolicy, values: Body) -> Body:
    """The values of a policy's parameters in an environment: its own before the shared ones."""
    shared = values.get("parameters") or {}
    own = ((values.get("policies") or {}).get(policy.name) or {}).get("parameters") or {}
    return {name: own.get(name, shared.get(name)) for name in policy.parameters}


def _render(
    round_: _Round, policies: Sequence[LibraryPolicy], subject: Subject
) -> Future[Rendered]:
    """The policies of a round at their examples' values, and no others."""
    settings: Body = {policy.name: {"enabled": False} for policy in policies}
    for policy, example in round_:
        settings[policy.name] = {"parameters": _wanted(policy, example)}
    part = part_of(subject.policies, [policy for policy, _ in round_])
    return subject.policies.render({"policies": settings}, part=part)


def _compiled(rendered: Rendered, round_: _Round) -> Mapping[str, PolicySet]:
    """What each policy's template came to: in CEL that may be several policies, and bindings."""
    found: dict[str, list[Resource]] = {}
    for each in rendered.resources:
        found.setdefault(Path(each.location.file).stem, []).append(each)
    return {
        name: compiled_set(found.get(name, ())) for name in {policy.name for policy, _ in round_}
    }


@lru_cache(maxsize=4096)
def _judged(
    policy: str, compiled: PolicySet, file: Path, left_out: Patterns, expected_bad: bool
) -> tuple[Diagnostic, ...]:
    """What is wrong about the objects of a file; environments with the same policies share it."""
    found: list[Diagnostic] = []
    missed: list[Resource] = []
    for resource in _shown(file, left_out):
        verdict = judge(compiled.policies, compiled.cleanup, resource, around(resource))
        which = f"{'bad' if expected_bad else 'good'} example {_called(resource)}"
        if verdict.error:
            message = f"{policy} cannot decide about its {which}: {verdict.error}"
            found.append(Diagnostic(policy, Severity.ERROR, message, resource.location))
        elif expected_bad and not verdict.acts:
            missed.append(resource)
        elif verdict.acts and not expected_bad:
            message = f"{policy} {verdict.does} its {which}"
            found.append(Diagnostic(policy, Severity.ERROR, message, resource.location))
    return (*found, *_missed(policy, missed))


def _missed(policy: str, bad: Sequence[Resource]) -> Iterator[Diagnostic]:
    """One finding for all bad examples of a file that a policy lets pass: one cause hides many."""
    if bad:
        names = ", ".join(_called(each) for each in bad[:_NAMED])
        if len(bad) > _NAMED:
            names += f" and {counted(len(bad) - _NAMED, 'other', 'others')}"
        which = f"its bad example {names}" if len(bad) == 1 else f"{len(bad)} bad examples: {names}"
        message = f"{policy} does nothing about {which}"
        yield Diagnostic(policy, Severity.ERROR, message, bad[0].location, _HIDDEN)


def _called(resource: Resource) -> str:
    return f"{resource.kind} {resource.name}"


def _left_out(subject: Subject, policy: LibraryPolicy) -> Patterns:
    """The namespaces that the policy leaves alone as a whole: what stands there shows nothing.

    None where every bad example stands there, for then nothing shows that the policy acts at all.
    """
    own = subject.environment.policies.get(policy.name)
    exclusions = (*subject.environment.exclude, *(own.exclude if own else ()))
    patterns = tuple(
        pattern
        for each in exclusions
        if set(each.resources) == {"namespaces"}
        for pattern in each.resources["namespaces"]
    )
    files = [example.bad for example in policy.examples if example.bad is not None]
    return patterns if any(_shown(file, patterns) for file in files) else ()


def _shown(file: Path, left_out: Patterns) -> tuple[Resource, ...]:
    """The objects of a file that stand in none of these namespaces, and are none of them."""
    matchers = [compile_wildcard(pattern) for pattern in left_out]
    return tuple(
        each for each in _read(file) if not any(matches(_place(each)) for matches in matchers)
    )


def _place(resource: Resource) -> str:
    given = in_namespace(resource)
    return given.name if given.kind == "Namespace" else given.namespace


@lru_cache(maxsize=512)
def _read(file: Path) -> tuple[Resource, ...]:
    return tuple(resources(read_file(file)))
