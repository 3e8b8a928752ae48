"""Why policies say what they say of an object: the decisions of each, as `engine.why` has them; the
policies and objects of `chartkit why`; the nearest miss of policies that matched no object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from chartkit.engine import Phase, RunnablePolicy, World, explain
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE
from chartkit.engine.why import Asked, Decision, RuleDecision
from chartkit.errors import InputError
from chartkit.model import Location, Resource
from chartkit.report.model import resource_id
from chartkit.scan.inputs import STDIN, Note, is_remote
from chartkit.scan.requests import (
    RequestOptions,
    Requests,
    load_judges,
    load_requests,
    read_requests,
)
from chartkit.scan.run import ScanContext
from chartkit.suggestions import suggestion
from chartkit.wording import shortened

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Cleaner
    from chartkit.network.cluster.reader import Reader
    from chartkit.scan.cluster_source import ClusterSource
    from chartkit.scan.environment import ProjectEnvironment

_MOST_DECISIONS: Final = 20_000
"""The most rules that are asked about objects: some seconds."""
_MOST_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class PolicyWhy:
    """A policy and the decisions of its rules, in their order; policy: its ID."""

    policy: str
    rules: tuple[RuleDecision, ...]

    @property
    def is_of_other_kinds(self) -> bool:
        """Report whether the kind of the object alone keeps all of its rules from it."""
        return all(rule.status is None and rule.decision.is_of_another_kind for rule in self.rules)


@dataclass(frozen=True, slots=True)
class ObjectWhy:
    """An object and the policies that were asked about it. unsent: why Kyverno is not sent the
    object, whose policies say nothing then; None where it is."""

    resource: Resource
    unsent: Decision | None
    policies: tuple[PolicyWhy, ...]


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks policies about objects.

    environment: the one whose policies they are, None for policies of files; wanted: the ID of the
    only policy that is shown, and the name of its rule; both empty for all.
    """

    policies: Sequence[RunnablePolicy]
    cleaners: Sequence[Cleaner]
    context: ScanContext
    environment: ProjectEnvironment | None = None
    wanted: tuple[str, str] = ("", "")

    def ask(self, objects: Iterable[Resource]) -> Iterator[ObjectWhy]:
        """Yield what decided for each object."""
        admissions = self.context.admissions(self.policies)
        served = {policy.policy.id for policy in self.policies if policy.runs_in_api_server}
        for given in objects:
            request = self.context.request(given, admissions)
            unsent = self._unsent(request.resource)
            decisions, _ = explain(self.policies, request, self.context.world)
            for cleaner in self.cleaners:
                decisions.append(cleaner.why(request, self.context.world)[1])
            if unsent is not None:
                decisions = [rule for rule in decisions if rule.policy in served]
            yield ObjectWhy(given, unsent, tuple(self._of_policies(decisions)))

    def _of_policies(self, decisions: Iterable[RuleDecision]) -> Iterator[PolicyWhy]:
        policies: dict[str, list[RuleDecision]] = {}
        policy, rule = self.wanted
        for decision in decisions:
            if policy and decision.policy != policy:
                continue
            if rule and rule not in (decision.rule, written_name(decision.rule)):
                continue
            policies.setdefault(decision.policy, []).append(decision)
        for key, rules in policies.items():
            yield PolicyWhy(key, tuple(_of_rules(rules)))

    def _unsent(self, resource: Resource) -> Decision | None:
        """Return the reason why the environment's Kyverno is not sent an object."""
        environment = self.environment
        if environment is None:
            return None
        configuration, labels = environment.configuration, self.context.namespaces
        reason = next(iter(configuration.unsent_with_pods(resource, labels)), None)
        if reason is None:
            return None
        asked = Asked.RESOURCE_FILTERS if reason.key == "resourceFilters" else Asked.WEBHOOK
        text = f"not sent to Kyverno in {environment.name}: {reason}"
        field = reason.key if reason.key in ("resourceFilters", "matchConditions") else "webhooks"
        for resource in environment.engine:
            data = resource.body.get("data")
            if resource.kind == "ConfigMap" and isinstance(data, dict) and field in data:
                return Decision(asked, False, text, resource.location.within(f"/data/{field}"))
        return Decision(asked, False, text)


def _of_rules(decisions: Sequence[RuleDecision]) -> Iterator[RuleDecision]:
    """Yield decisions, except of phases in which a rule that decided says nothing."""
    decided = {decision.rule for decision in decisions if decision.status is not None}
    seen: set[tuple[str, str]] = set()
    for decision in decisions:
        key = (decision.rule, decision.decision.text)
        if (decision.status is None and decision.rule in decided) or key in seen:
            continue
        seen.add(key)
        yield decision


def named(objects: Sequence[Resource], name: str) -> list[Resource]:
    """Return the objects of a name, of `KIND/NAME` or of `KIND/NAMESPACE/NAME`, as reports name
    them; raise InputError for none."""
    ids = {}
    for resource in objects:
        names = (resource_id(resource), resource.name, f"{resource.kind}/{resource.name}")
        ids[id(resource)] = {text.lower() for text in names}
    matching = [resource for resource in objects if name.lower() in ids[id(resource)]]
    if not matching:
        hint = suggestion(name, [resource_id(resource) for resource in objects])
        raise InputError(f"there is no object '{name}' at PATH", None, hint or "write KIND/NAME")
    return matching


def wanted_policy(
    text: str, policies: Sequence[RunnablePolicy], cleaners: Sequence[Cleaner]
) -> tuple[str, str]:
    """Return the policy's ID and the rule's name of `POLICY` or `POLICY/RULE`; raise InputError for
    one that is not there."""
    names: dict[str, tuple[str, tuple[str, ...]]] = {}
    for runnable in policies:
        policy, rules = runnable.policy, runnable.rules_in(tuple(Phase))
        names.update(dict.fromkeys((policy.name, policy.key, policy.id), (policy.id, rules)))
    for cleaner in cleaners:
        names.update(dict.fromkeys((cleaner.name, cleaner.key), (cleaner.key, ())))
    if text in names:
        return names[text][0], ""
    name, _, rule = text.rpartition("/")
    if name not in names:
        hint = suggestion(text.partition("/")[0], names) or "-p and --env say which there are"
        raise InputError(f"there is no policy '{text}'", None, hint)
    identity, rules = names[name]
    if rule not in rules and written_name(rule) not in rules:
        hint = suggestion(rule, rules) or f"its rules: {', '.join(filter(None, rules)) or 'none'}"
        raise InputError(f"policy {name} has no rule '{rule}'", None, hint)
    return identity, rule


def nearest_miss(
    policies: Sequence[RunnablePolicy], context: ScanContext, objects: Sequence[Resource]
) -> str:
    """Return the rule that came nearest to matching an object, and what kept it off, with its line;
    empty where none can be named."""
    most = max(1, _MOST_DECISIONS // max(1, len(policies)))
    misses = [
        (_nearness(rule.decision), asked.resource, rule)
        for asked in Asker(policies, (), context).ask(objects[:most])
        for policy in asked.policies
        for rule in policy.rules
        if rule.status is None
    ]
    if not misses:
        return ""
    # Of equal ones the first is named.
    _, resource, rule = max(misses, key=lambda miss: miss[0])
    decision = rule.decision
    where = "" if decision.location is None else f", {decision.location}"
    text = shortened(decision.text, _MOST_CHARACTERS)
    return f"{rule.name}: {text}{where}; the object: {resource_id(resource)}"


def _nearness(decision: Decision) -> tuple[int, int, int]:
    """The distance of a rule: whether its kind fits, then how few checks do not hold."""
    step = 0 if decision.is_of_another_kind else 1 if decision.asked is Asked.AUTOGEN else 2
    filters = [part for part in decision.parts if part.asked is Asked.FILTER] or [decision]
    return step, *max(map(_counts, filters))


def _counts(decision: Decision) -> tuple[int, int]:
    checks = list(decision.checks())
    refusing = sum(check.holds is False for check in checks)
    return -refusing, len(checks) - refusing


@dataclass(frozen=True, slots=True)
class WhyInputs:
    """asker: the policies; objects: about which they are asked; is_broken: whether a policy does
    not compile, or something could not be read."""

    asker: Asker
    objects: Sequence[Resource]
    is_broken: bool


@contextmanager
def open_why(
    source: ClusterSource | None,
    environment: ProjectEnvironment | None,
    options: RequestOptions,
    stdin: TextIO,
    note: Note,
    warn: Callable[[str], None],
) -> Iterator[WhyInputs]:
    """Read policies and objects; raise InputError and SourceError.

    source: the cluster, or a recording of one, whose policies are asked, also about an object
    `KIND/NAME` there; else the environment's are asked, or those that the options name. warn: is
    called with a line for all that could not be read of the cluster.
    """
    if source is None:
        requests = load_requests(options, stdin, note, environment)
        yield _inputs(requests, requests.world(), environment)
        return
    from chartkit.scan.installed import open_installed

    with open_installed(source, options, note) as installed:
        for diagnostic in installed.diagnostics:
            note(diagnostic)
        environment = installed.environment
        judges = load_judges(options, note, environment)
        (path,) = options.inputs.paths
        if path == STDIN or is_remote(path) or Path(path).exists():
            requests = read_requests(judges, options, stdin, note, environment=environment)
        else:
            namespace = options.inputs.named_namespace or DEFAULT_NAMESPACE
            there = _object_there(installed.survey.reader, path, namespace)
            requests = Requests(judges.policies, (there,), {}, judges.inputs)
        requests = installed.completed(requests)
        inputs = _inputs(requests, installed.world(requests), environment)
        yield replace(inputs, is_broken=inputs.is_broken or bool(installed.diagnostics))
        for line in installed.unread():
            warn(line)


def _inputs(requests: Requests, world: World, environment: ProjectEnvironment | None) -> WhyInputs:
    policies, context = requests.policies, requests.context(world)
    asker = Asker(policies.policies, policies.cleanup, context, environment)
    return WhyInputs(asker, requests.objects, bool(policies.diagnostics))


def _object_there(reader: Reader, text: str, namespace: str) -> Resource:
    """The object `KIND/NAME` or `KIND/NAMESPACE/NAME` of a cluster; InputError without it."""
    from chartkit.network.cluster.source import RefusedError

    kind, *names = text.split("/")
    if len(names) not in (1, 2) or not all(names):
        hint = "OBJECT is a file, a folder, a chart, -, or KIND/NAME in the cluster"
        raise InputError(f"there is no file '{text}'", None, hint)
    *above, name = names
    for served in reader.discovery.all:
        if kind.lower() not in (served.kind.kind.lower(), served.plural, served.name):
            continue
        path = served.path(above[0] if above else namespace, name)
        try:
            body = reader.source.get(path)
        except RefusedError as error:
            raise InputError(f"{text} cannot be read in the cluster: {error}") from None
        typed = {"apiVersion": served.api_version, "kind": served.kind.kind}
        return Resource({**body, **typed}, Location(path))
    raise InputError(f"the cluster serves no kind '{kind}'", None, "write KIND/NAME, as Pod/web")
