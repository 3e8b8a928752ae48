"""The policies' own good and bad examples, evaluated with an environment's settings.

An example shows what a policy does at certain parameter values: the policy is rendered with the
environment's action, exclusions and Kyverno version, and with those values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

from chartkit.documents.input_files import file_state
from chartkit.documents.reader import read_file, resources
from chartkit.engine import OFFLINE, Reason, is_policy
from chartkit.helm.render import RenderedChart
from chartkit.library.policies import (
    BAD_FILE,
    GOOD_FILE,
    POLICY_FILE,
    Examples,
    FolderPolicy,
    LibraryPolicy,
)
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Body, Diagnostic, Location, Resource, Severity
from chartkit.project.settings import Action
from chartkit.render.chart import CheckTarget, part_of
from chartkit.render.checks.engine import compiled_set
from chartkit.render.checks.exclusions import (
    Exclusions,
    Unsent,
    asks_kyverno,
    never_acts,
    unreachable,
)
from chartkit.render.model import Row, rows
from chartkit.scan.policies import PolicySet
from chartkit.scan.verdicts import CLUSTER_FILE, example_world, judge
from chartkit.wording import abridged, counted

_HIDDEN = (
    "an exclusion may hide it{places}; one by names or selector turns Kyverno's rules for pod "
    "controllers off: exclude namespaces"
)
_REPORTING = "ValidatingPolicy"
"""The form that stands next to ClusterPolicies and only reports (`policyType: both`)."""
_SWITCH_OFF = "exclude less, or switch it off: policies: {{{name}: {{enabled: false}}}}"


def examples(
    subject: CheckTarget, carried: Sequence[LibraryPolicy], here: PolicySet, unsent: Unsent
) -> Iterable[Row]:
    """Check that the policies' examples have the expected results, and that they can have them
    here. carried: the policies of the chart; upstream policies have no examples; here: the policies
    as the environment has them."""
    policies_here = filter(is_policy, subject.policies.rendered().resources)
    rendered = dict.fromkeys(resource.name for resource in policies_here)
    by_name = {policy.name: policy for policy in carried if isinstance(policy, FolderPolicy)}
    policies = [by_name[name] for name in rendered if name in by_name]
    shown = {item.name: _PolicyExamples(item, item.name) for item in policies}
    reporting = {name: _PolicyExamples(by_name[name], f"{name} ({_REPORTING})") for name in shown}
    rounds = [(pair, render(subject)) for pair, render in _rounds(subject, policies)]
    locations = {_identity(resource): resource.location for resource in here.found}
    for round_, future in rounds:
        # The compiled policies of each template, by form, the ClusterPolicy first: in CEL, a
        # template may give several policies and bindings. Policies of the environment, which no
        # example names, are compiled already.
        by_template: dict[str, dict[str, list[Resource]]] = {}
        for resource in future.result().resources:
            by_form = by_template.setdefault(Path(resource.location.file).stem, {})
            location = locations.get(_identity(resource), resource.location)
            located = Resource(resource.body, location)
            by_form.setdefault(resource.api_version.partition("/")[0], []).append(located)
        compiled = {
            name: [
                compiled_set(group) for _, group in sorted(by_template.get(name, {"": []}).items())
            ]
            for name in {policy.name for policy, _ in round_}
        }
        for policy, example in round_:
            for file, expected_bad in ((example.good, False), (example.bad, True)):
                if file is not None:
                    states = file_state(file), file_state(file.parent / CLUSTER_FILE)
                    for form, forms in zip(compiled[policy.name], (shown, reporting), strict=False):
                        there = forms[policy.name]
                        there.add(form, _judged(there.title, form, file, states, expected_bad))
    exclusions = Exclusions(subject)
    both = [*shown.values(), *reporting.values()]
    wrong = [diagnostic for policy_examples in both for diagnostic in policy_examples.wrong]
    wrong += [diagnostic for item in both for diagnostic in _unexplained(item, exclusions)]
    wrong += _left_out(shown.values(), exclusions)
    reporting_policies = subject.resolved.policies.values() if subject.resolved else ()
    decided = frozenset(
        policy.policy.name for policy in reporting_policies if policy.action is Action.AUDIT
    )
    wrong += [row for item in shown.values() for row in _speechless(item, unsent, decided)]
    upstream = {policy.name for policy in carried if isinstance(policy, UpstreamPolicy)}
    wrong += unreachable(here, unsent, upstream)
    wrong += [_without_examples(item) for item in policies if not shown[item.name].judged]
    right = [policy_examples for policy_examples in shown.values() if policy_examples.judged]
    count = counted(sum(policy_examples.judged for policy_examples in right), "example", "examples")
    text = f"{count} of {counted(len(right), 'policy', 'policies')} come out right"
    return rows(subject.environment.name, "examples", wrong, text, subject.policies.values.location)


def _without_examples(policy: FolderPolicy) -> Diagnostic:
    message = f"policy {policy.name} has no examples, and nothing shows what it does"
    location = Location(str(policy.folder / POLICY_FILE), 1)
    hint = f"put objects that it accepts into {GOOD_FILE} next to it, and others into {BAD_FILE}"
    return Diagnostic("examples", Severity.NOTE, message, location, hint)


_Round = Sequence[tuple[FolderPolicy, Examples]]
_Rendering = Callable[[CheckTarget], Future[RenderedChart]]


def _rounds(
    subject: CheckTarget, policies: Sequence[FolderPolicy]
) -> Iterator[tuple[_Round, _Rendering]]:
    """Yield the examples that one render serves: those at the environment's own values first, then
    every policy's first example with other values, its second …"""
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


def _wanted(policy: FolderPolicy, example: Examples) -> Body:
    return {**policy.defaults, **example.parameters}


def _effective(policy: FolderPolicy, values: Body) -> Body:
    """The values of a policy's parameters in an environment, its own first."""
    shared = values.get("parameters") or {}
    own = ((values.get("policies") or {}).get(policy.name) or {}).get("parameters") or {}
    return {name: own.get(name, shared.get(name)) for name in policy.parameters}


def _render(
    round_: _Round, policies: Sequence[FolderPolicy], subject: CheckTarget
) -> Future[RenderedChart]:
    """Start rendering the policies of a round, and no others, with their examples' values."""
    settings: Body = {policy.name: {"enabled": False} for policy in policies}
    for policy, example in round_:
        settings[policy.name] = {"parameters": _wanted(policy, example)}
    part = part_of(subject.policies, [policy for policy, _ in round_])
    return subject.policies.start_rendering({"policies": settings}, part=part)


def _identity(resource: Resource) -> tuple[str, ...]:
    return resource.api_version, resource.kind, resource.namespace, resource.name


@dataclass(frozen=True, slots=True)
class _FileResults:
    """The results of a file of examples: their number, what is wrong with them, the bad ones that
    the policy acts on, and those that it misses."""

    count: int
    wrong: tuple[Diagnostic, ...]
    acting: tuple[Resource, ...]
    missed: tuple[Resource, ...]


_States = tuple[tuple[int, ...], tuple[int, ...]]


@lru_cache(maxsize=4096)
def _judged(
    policy: str, compiled: PolicySet, file: Path, states: _States, expected_bad: bool
) -> _FileResults:
    """Return the results of a file's examples; environments with the same policies share them.
    states: of the file and of the `cluster.yaml` beside it."""
    diagnostics: list[Diagnostic] = []
    acting: list[Resource] = []
    missed: list[Resource] = []
    examples = _read(file, states[0])
    world = example_world(examples[0], wants_fields=False) if examples else OFFLINE
    for resource in examples:
        verdict = judge(compiled.policies, compiled.cleanup, resource, world)
        which = f"{'bad' if expected_bad else 'good'} example {_called(resource)}"
        if verdict.error:
            message = f"{policy} cannot decide about its {which}: {verdict.error}"
            diagnostics.append(Diagnostic(policy, Severity.ERROR, message, resource.location))
        elif expected_bad:
            (acting if verdict.acts else missed).append(resource)
        elif verdict.acts:
            message = f"{policy} {verdict.does} its {which}"
            diagnostics.append(Diagnostic(policy, Severity.ERROR, message, resource.location))
    return _FileResults(len(examples), tuple(diagnostics), tuple(acting), tuple(missed))


class _PolicyExamples:
    """The results of one policy's examples in an environment.

    title: the policy's name, with the form that only reports next to another; acting: the bad ones
    that it acted on; missed: those that it let pass; asked: whether Kyverno evaluates it when
    objects are admitted, cleans: whether Kyverno does so on a schedule; is_refused: whether
    Kyverno refuses it, so that it does nothing.
    """

    def __init__(self, policy: FolderPolicy, title: str) -> None:
        self.policy = policy
        self.title = title
        self.judged = 0
        self.wrong: list[Diagnostic] = []
        self.acting: list[Resource] = []
        self.missed: list[Resource] = []
        self.asked = self.cleans = self.is_refused = False

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.policy.name

    def add(self, compiled: PolicySet, judged: _FileResults) -> None:
        """Add the results of one file."""
        self.judged += judged.count
        self.wrong += judged.wrong
        self.acting += judged.acting
        self.missed += judged.missed
        self.asked = self.asked or any(map(asks_kyverno, compiled.policies))
        self.cleans = self.cleans or bool(compiled.cleanup)
        self.is_refused = self.is_refused or bool(compiled.diagnostics)


def _unexplained(shown: _PolicyExamples, exclusions: Exclusions) -> Iterator[Diagnostic]:
    """Yield one finding for all bad examples of a file that a policy misses and no exclusion leaves
    out: one cause hides many."""
    if shown.is_refused:
        return
    given = exclusions.of(shown.name)
    by_file: dict[str, list[Resource]] = {}
    for resource in shown.missed:
        if not any(exclusion.leaves_out(resource) for exclusion in given):
            by_file.setdefault(resource.location.file, []).append(resource)
    places = ", ".join(str(exclusion.location) for exclusion in given)
    hint = _HIDDEN.format(places=f" ({places})" if places else "")
    for bad in by_file.values():
        names = abridged([_called(resource) for resource in bad])
        which = f"its bad example {names}" if len(bad) == 1 else f"{len(bad)} bad examples: {names}"
        message = f"{shown.title} does nothing about {which}"
        yield Diagnostic(shown.name, Severity.ERROR, message, bad[0].location, hint)


def _left_out(shown: Iterable[_PolicyExamples], exclusions: Exclusions) -> Iterator[Diagnostic]:
    """A note for each exclusion with examples; a warning for policies without others."""
    by_place: dict[Location, dict[str, int]] = {}
    for own in shown:
        places = [spot for resource in own.missed for spot in _places(resource, own, exclusions)]
        for location in places:
            counts = by_place.setdefault(location, {})
            counts[own.name] = counts.get(own.name, 0) + 1
        if places and not own.acting:
            message = f"{own.name} can do nothing here: exclusions leave out all its bad examples"
            hint = _SWITCH_OFF.format(name=own.name)
            yield Diagnostic(own.name, Severity.WARNING, message, places[0], hint)
    for location, counts in by_place.items():
        count = counted(sum(counts.values()), "bad example", "bad examples")
        message = f"this exclusion leaves out {count} of {abridged(list(counts))}"
        yield Diagnostic("exclusion", Severity.NOTE, message, location)


def _places(
    resource: Resource, shown: _PolicyExamples, exclusions: Exclusions
) -> Iterator[Location]:
    """Yield the first exclusion that leaves an example out."""
    places = (item.location for item in exclusions.of(shown.name) if item.leaves_out(resource))
    yield from islice(places, 1)


def _speechless(
    shown: _PolicyExamples, unsent: Unsent, decided: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning for a policy whose objects are all kept from it; a note if the project has
    decided that the policy only reports, as background scans do."""
    if not shown.acting or not (shown.asked or shown.cleans):
        return
    all_reasons: dict[Reason, None] = {}
    for resource in shown.acting:
        reasons = unsent.reasons(resource, {}) if shown.asked else unsent.filtered(resource)
        if not reasons:
            return
        all_reasons |= dict.fromkeys(reasons)
    only_reports = shown.name in decided and not shown.cleans
    yield never_acts(shown.name, all_reasons, unsent, only_reports)


def _called(resource: Resource) -> str:
    return f"{resource.kind} {resource.name}"


@lru_cache(maxsize=512)
def _read(file: Path, _state: tuple[int, ...]) -> tuple[Resource, ...]:
    return tuple(resources(read_file(file)))
