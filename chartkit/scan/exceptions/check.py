"""Finds faults in a project's PolicyExceptions, with the objects to check them with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO

from chartkit.engine import NO_ATTACHMENTS, RunnablePolicy
from chartkit.engine.cel_policies.exceptions import read_cel_exception, without_effect
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Severity, mappings_at
from chartkit.network.cluster.recording import is_recording
from chartkit.project.project import ExceptionRules
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.exceptions.model import FiledException, lifetime
from chartkit.scan.exceptions.need import Needs, narrower
from chartkit.scan.gate.selection import rule_names
from chartkit.scan.inputs import Note
from chartkit.scan.requests import RequestOptions, load_named_policies, load_requests
from chartkit.scan.run import ScanContext
from chartkit.scan.user_inputs import load_user_inputs
from chartkit.suggestions import suggestion

UNKNOWN: Final = "unknown-policy"
UNKNOWN_RULE: Final = "unknown-rule"
UNUSED: Final = "unused"
WIDE: Final = "too-wide"


def check(
    exceptions: Sequence[FiledException],
    policies: Sequence[RunnablePolicy],
    needs: Needs | None,
    rules: ExceptionRules,
    now: datetime,
    soon_days: int,
) -> Iterator[Diagnostic]:
    """Yield what is wrong with exceptions.

    policies: those that they may be from, compiled without exceptions; needs: of the objects that
    there are, None where there are none; soon_days: see `lifetime`.
    """
    known = {name for policy in policies for name in (policy.policy.key, policy.policy.name)}
    for each in exceptions:
        yield from lifetime(each, rules, now, soon_days)
        yield from _unknown(each, policies)
        idle = list(_without_effect(each, policies))
        yield from idle
        if not idle and needs is not None and each.forms and not known.isdisjoint(each.policies):
            yield from _need(each, needs)


def _unknown(exception: FiledException, policies: Sequence[RunnablePolicy]) -> Iterator[Diagnostic]:
    """Yield the policies and rules that an exception names and that there are not."""
    resource = exception.resource
    known = {name: one for one in policies for name in (one.policy.key, one.policy.name)}
    for name in exception.policies:
        if name not in known:
            message = f"exception {resource.name} names policy '{name}', which there is not"
            hint = suggestion(name, known) or "take it out, or correct the name"
            yield Diagnostic(UNKNOWN, Severity.ERROR, message, resource.location, hint)
    for index, one in enumerate(mappings_at(resource.body["spec"], "exceptions")):
        policy = known.get(str(one.get("policyName")))
        if policy is None or not isinstance(policy.policy, Policy):
            continue
        names = rule_names(policy)
        for at, rule in enumerate(one.get("ruleNames") or ()):
            if not any(map(compile_wildcard(str(rule)), names)):
                location = resource.location.within(f"/spec/exceptions/{index}/ruleNames/{at}")
                message = f"exception {resource.name} names rule '{rule}' of {policy.policy.key}, "
                message += "which there is not"
                hint = suggestion(str(rule), names) or f"its rules are {', '.join(names)}"
                yield Diagnostic(UNKNOWN_RULE, Severity.ERROR, message, location, hint)


def _without_effect(
    exception: FiledException, policies: Sequence[RunnablePolicy]
) -> Iterator[Diagnostic]:
    """Yield the policies that an exception names and on which it has no effect."""
    if exception.is_legacy:
        return
    read = read_cel_exception(exception.resource)
    for policy in policies:
        if isinstance(policy.policy, CelPolicy):
            yield from without_effect(policy.policy, [read])


def _need(exception: FiledException, needs: Needs) -> Iterator[Diagnostic]:
    resource = exception.resource
    lifted = needs.lifted(exception.forms)
    if not lifted:
        message = f"no object needs exception {resource.name}"
        hint = "take it out, or scan the objects that it is for"
        yield Diagnostic(UNUSED, Severity.WARNING, message, resource.location, hint)
        return
    if exception.forms != (resource,):
        return  # What is installed is narrowed where it is as the file has it.
    found = narrower(resource, lifted, needs)
    if found is not None:
        message = f"exception {resource.name} is wider than what needs it: {'; '.join(found.steps)}"
        hint = "a narrower one lets the same objects off"
        yield Diagnostic(WIDE, Severity.WARNING, message, resource.location, hint)


@contextmanager
def needs_of(
    options: RequestOptions, environment: ProjectEnvironment | None, stdin: TextIO, note: Note
) -> Iterator[tuple[Sequence[RunnablePolicy], Needs | None]]:
    """Yield policies without exceptions, and what the objects at the paths need of those; None
    without paths. Raise InputError."""
    recordings = [path for path in map(Path, options.inputs.paths) if is_recording(path)]
    if recordings and len(options.inputs.paths) > 1:
        raise InputError("a recording is read alone", hint="leave the other PATHs out")
    without = replace(options, policies=replace(options.policies, exceptions=()))
    if options.inputs.paths and not recordings:
        requests = load_requests(without, stdin, note, environment=environment)
        policies = requests.policies.policies
        yield policies, Needs(policies, requests.objects, requests.context(requests.world()))
        return
    if environment is not None:
        policies = environment.policies(NO_ATTACHMENTS).policies
    else:
        policies = load_named_policies(without, NO_ATTACHMENTS).policies
    if not recordings:
        yield policies, None
        return
    with _recorded(recordings[0], without, policies, note) as needs:
        yield policies, needs


@contextmanager
def _recorded(
    recording: Path, options: RequestOptions, policies: Sequence[RunnablePolicy], note: Note
) -> Iterator[Needs]:
    from chartkit.scan.cluster import Survey, open_cluster
    from chartkit.scan.cluster_source import ClusterSource

    source = ClusterSource(recording=recording, namespace=options.inputs.only_namespace)
    with open_cluster(source) as reader:
        survey = Survey(reader, NO_ATTACHMENTS)
        context = ScanContext(
            survey.namespaces,
            survey.namespace_objects,
            survey.world(load_user_inputs(options.world, note)),
            plural_of=reader.discovery.plural,
        )
        yield Needs(policies, list(survey.objects(policies)), context)
