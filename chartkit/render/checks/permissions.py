"""The permissions, ConfigMaps and global context entries that an environment's policies need.

The chart's ClusterRoles are derived from the policies before values apply. This check reads the
rendered policies, including those of `customPolicies`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from itertools import product
from typing import Final

from chartkit.charts.rbac.permissions import LABEL, definitions_beside, needs
from chartkit.charts.rbac.requirements import Needs, Permission
from chartkit.engine import is_policy
from chartkit.kyverno.controllers import COMPONENT, CONTROLLERS
from chartkit.kyverno.versions import Version
from chartkit.library.policies import LibraryPolicy
from chartkit.model import (
    Diagnostic,
    Resource,
    RuleResult,
    Severity,
    mapping_at,
    mappings_at,
    texts_of,
)
from chartkit.project.environment import Environment
from chartkit.render.chart import CheckTarget
from chartkit.render.model import Outcome, Row, findings, rows
from chartkit.report.model import Accepted, AcceptedAs, resource_id, rule_id
from chartkit.scan.gate import GateOptions
from chartkit.scan.gate.baseline import about_baseline, open_baseline, update
from chartkit.scan.gate.gate import Acceptor
from chartkit.wording import counted

_GATHERS: Final = Version(1, 13)
"""The first Kyverno whose chart aggregates roles by the label."""
_Allowed = frozenset[tuple[str, str, str, str]]
"""(controller, group, resource, verb)"""
CHECK: Final = "baseline"
SUPPRESSED: Final = "suppressed"


def permissions(subject: CheckTarget, carried: Sequence[LibraryPolicy]) -> Iterable[Row]:
    """Check that Kyverno's controllers have the permissions that policies need, and list what else
    the policies read. carried: the policies of the chart, whose folders may hold definitions."""
    definitions = [item for policy in carried for item in definitions_beside(policy.folder)]
    rendered = subject.policies.rendered().resources
    engine = subject.engine.rendered().resources if subject.engine else ()
    allowed = frozenset(_allowed([*rendered, *engine]))
    makes = mapping_at(subject.policies.lint_subject().values, "permissions").get("create")
    there = {(item.namespace, item.name) for item in rendered if item.kind == "ConfigMap"}
    diagnostics: list[Diagnostic] = []
    count = 0
    for policy in filter(is_policy, rendered):
        needed = needs([policy.body], definitions)
        count += len(needed.permissions)
        if makes is not False:
            diagnostics += _lacking(policy, needed.permissions, allowed)
        diagnostics += _read(policy, needed, there)
    location = subject.policies.values.location
    if subject.environment.kyverno < _GATHERS and any(
        resource.kind == "ClusterRole" for resource in rendered
    ):
        message = (
            f"the chart of Kyverno {subject.environment.kyverno} does not gather the ClusterRoles "
            f"that the policies' chart makes; that of {_GATHERS} is the first"
        )
        hint = "give the permissions in the values of Kyverno's chart, or update it"
        diagnostics.append(Diagnostic("permissions", Severity.WARNING, message, location, hint))
    right = f"{counted(count, 'permission', 'permissions')} beyond those of Kyverno's chart"
    return rows(subject.environment.name, "permissions", diagnostics, right, location)


def _allowed(rendered: Sequence[Resource]) -> Iterator[tuple[str, str, str, str]]:
    for role in rendered:
        labels = mapping_at(role.body, "metadata", "labels")
        controllers = [label.removeprefix(LABEL) for label in labels if label.startswith(LABEL)]
        # The label by which Kyverno's own chart aggregates roles.
        component = labels.get(COMPONENT)
        controllers += (
            [component] if isinstance(component, str) and component in CONTROLLERS else []
        )
        for rule in mappings_at(role.body, "rules") if role.kind == "ClusterRole" else ():
            for controller in controllers:
                parts = (texts_of(rule.get(key)) for key in ("apiGroups", "resources", "verbs"))
                for group, resource, verb in product(*parts):
                    yield controller, group, resource, verb


def _lacking(
    policy: Resource, needed: Sequence[Permission], allowed: _Allowed
) -> Iterator[Diagnostic]:
    for need in needed:
        target = need.controller.value, need.group, need.resource
        verbs = [verb for verb in need.verbs if (*target, verb) not in allowed]
        if verbs:
            resource = f"{need.resource}.{need.group}".removesuffix(".")
            message = (
                f"{policy.name}: Kyverno's {need.controller} may not {', '.join(verbs)} {resource}"
            )
            key = f"{CONTROLLERS[need.controller]}.rbac.clusterRole.extraResources"
            hint = f"give it in the values of Kyverno's chart: {key}"
            yield Diagnostic(policy.name, Severity.WARNING, message, policy.location, hint)


def _read(policy: Resource, needed: Needs, there: set[tuple[str, str]]) -> Iterator[Diagnostic]:
    for config_map in needed.config_maps:
        if (config_map.namespace, config_map.name) not in there:
            message = f"{policy.name} reads ConfigMap {config_map}, which must be in the cluster"
            hint = "the chart makes it where configMaps has it"
            yield Diagnostic(policy.name, Severity.NOTE, message, policy.location, hint)
    for entry in needed.global_entries:
        message = f"{policy.name} asks GlobalContextEntry {entry}, which must be in the cluster"
        yield Diagnostic(policy.name, Severity.NOTE, message, policy.location)
    for unknown in needed.unknown:
        message = f"{policy.name}: {unknown.message}"
        yield Diagnostic(policy.name, Severity.NOTE, message, policy.location)


class AcceptedViolations:
    """The accepted violations of one environment."""

    def __init__(
        self,
        environment: Environment,
        policies: Collection[str],
        today: date,
        updates: bool = False,
    ) -> None:
        """policies: the names of the environment's; updates: whether its baseline is written.
        Raise InputError for a baseline that cannot be read."""
        self._environment = environment
        options = GateOptions(baseline=environment.baseline, update_baseline=updates)
        self._matcher = open_baseline(options, today)
        self._acceptor = Acceptor(self._matcher, today, policies, environment.suppressions)
        self._known: Counter[bool] = Counter()
        self._suppressed: list[Diagnostic] = []

    def take(
        self, resource: Resource, results: Sequence[RuleResult], refused: Collection[int]
    ) -> Accepted:
        """Return the accepted ones among the results of an object; refused: the positions of those
        for which Kyverno refuses the object."""
        accepted = self._acceptor.accepted(resource, results)
        for position, acceptance in accepted.items():
            if acceptance.state is AcceptedAs.KNOWN:
                self._known[position in refused] += 1
                continue
            rule = rule_id(results[position])
            message = f"{resource_id(resource)}: {rule}: {acceptance}"
            note = Diagnostic(rule, Severity.NOTE, message, resource.location)
            self._suppressed.append(note)
        return accepted

    def rows(self, has_unread: bool = False) -> Iterator[Row]:
        """Yield a note on the number of known violations, and the findings about suppressions and
        the baseline; write the baseline if it is to be updated. has_unread: whether objects were
        not read, whose entries stay."""

        def looked_at(_violation: object) -> bool:
            return not has_unread

        env = self._environment
        said = (*self._suppressed, *self._acceptor.notes)
        yield from findings(env.name, SUPPRESSED, said, env.locate())
        if self._matcher is None:
            return
        where = env.locate("baseline")
        if self._matcher.updates and update(self._matcher, looked_at):
            yield Row(env.name, CHECK, Outcome.NOTE, f"wrote {self._matcher.baseline.path}", where)
        count = self._known.total()
        message = counted(count, "known violation", "known violations")
        if self._known[True]:
            message += f"; Kyverno refuses the objects of {self._known[True]} of them (Enforce)"
        yield Row(env.name, CHECK, Outcome.NOTE, message, where)
        yield from findings(env.name, CHECK, about_baseline(self._matcher, looked_at), where)
