"""A legacy policy converted: each rule by the converter of its type, then assembled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.acceptance import (
    accepted_rules,
    refusal,
    remaining_policy,
    rules_of,
    with_connections,
)
from chartkit.addons.migrate.admission import KYVERNO, Target, admission_policies, changes_of
from chartkit.addons.migrate.assembly import Made, assemble, by_action, entries_before
from chartkit.addons.migrate.cleanup import convert_cleanup
from chartkit.addons.migrate.conversion import (
    Conversion,
    NotConvertible,
    RuleOutcome,
    left_rule,
    type_of,
)
from chartkit.addons.migrate.differences import (
    ACTS_NOWHERE,
    CONNECTIONS,
    DELETIONS,
    PROPERTIES,
    REMARKS,
    described,
)
from chartkit.addons.migrate.exceptions import Takeover, convert_exception, excepting
from chartkit.addons.migrate.existing import refuses_updates
from chartkit.addons.migrate.expressions.build import NoLiteralError
from chartkit.addons.migrate.expressions.place import with_types_settled
from chartkit.addons.migrate.generate import convert_generate
from chartkit.addons.migrate.matching.scope import about_deletions
from chartkit.addons.migrate.mutate import convert_mutate
from chartkit.addons.migrate.mutate.targets import convert_targets
from chartkit.addons.migrate.rule import ConvertedRule, RuleConverter
from chartkit.addons.migrate.validate import convert_validate
from chartkit.addons.migrate.validate.cel_rule import convert_cel
from chartkit.addons.migrate.validate.pod_security import convert_pod_security
from chartkit.addons.migrate.verify_images import convert_verify_images
from chartkit.engine.cluster_policy.exceptions import PolicyException, read_exception
from chartkit.engine.cluster_policy.policy import KINDS as POLICY_KINDS
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind, read_policy
from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE
from chartkit.engine.policies import EXCEPTION
from chartkit.errors import ChartkitError, CompileError
from chartkit.model import Body, Location, Resource, mapping_at, mappings_at

CONVERTERS: Final[Mapping[RuleKind, RuleConverter]] = {
    RuleKind.VALIDATE: convert_validate,
    RuleKind.CEL: convert_cel,
    RuleKind.POD_SECURITY: convert_pod_security,
    RuleKind.MUTATE: convert_mutate,
    RuleKind.MUTATE_EXISTING: convert_targets,
    RuleKind.GENERATE: convert_generate,
    RuleKind.VERIFY_IMAGES: convert_verify_images,
}


_REASONS: Final[Mapping[RuleKind, str]] = {
    RuleKind.MANIFESTS: (
        "no kind of policies.kyverno.io verifies the signature of a manifest, and no function of "
        "CEL does"
    ),
}
"""By kind of rule without a converter: why there is none."""
_FAILS: Final = " (in a ClusterPolicy, every object fails a rule whose CEL does not compile)"
_WHOLE: Final = "rule {rule} of its policy is left, and --no-split keeps the policy in one piece"


_NO_POLICY: Final = (
    "policy {policy} is not among the inputs: name its file or chart, too, since a new exception "
    "names the policies that it becomes"
)


_NONE: Final[Mapping[int, NotConvertible]] = {}


def convert(legacy: Resource) -> Conversion:
    """Convert a legacy object on its own; raises what `Batch.convert` raises."""
    return Batch([legacy]).convert(legacy)


class Batch:
    """Legacy objects that belong together, each converted when it is asked for."""

    def __init__(
        self,
        resources: Iterable[Resource],
        target: Target = KYVERNO,
        names: Iterable[tuple[str, str]] = (),
    ) -> None:
        """names: of further policies, each with its namespace."""
        resources = list(resources)
        named_policies = (resource for resource in resources if resource.kind in POLICY_KINDS)
        self._names = frozenset(names) | {(row.namespace, row.name) for row in named_policies}
        self._target = target
        self._exceptions: list[PolicyException] = []
        self._takeovers: dict[str, Takeover] = {}
        written = [resource for resource in resources if resource.kind == EXCEPTION]
        for resource in written:
            with suppress(CompileError):
                self._exceptions.append(read_exception(resource))
        named = {entry.policy for exception in self._exceptions for entry in exception.excepted}
        self._policies = {
            policy_key(policy): policy
            for policy in resources
            if policy.kind in POLICY_KINDS and policy_key(policy) in named
        }
        self._together = (*written, *self._policies.values())

    def __reduce__(
        self,
    ) -> tuple[type[Batch], tuple[tuple[Resource, ...], Target, frozenset[tuple[str, str]]]]:
        """Another process needs what depends on each other alone."""
        return Batch, (self._together, self._target, self._names)

    def convert(self, legacy: Resource, left: Mapping[int, NotConvertible] = _NONE) -> Conversion:
        """Convert one of them; left: why rules of it are left, by their index.

        Raises CompileError for one that Kyverno refuses whole, and NotConvertible for a cleanup
        policy whose new form it would refuse.
        """
        if legacy.kind in POLICY_KINDS:
            return self._policy(legacy, left)[0]
        if legacy.kind == EXCEPTION:
            return convert_exception(legacy, self._takeover)
        conversion = convert_cleanup(legacy)
        if reason := refusal(conversion.documents):
            raise NotConvertible(reason)
        return conversion

    def exceptions_from(self, legacy: Resource) -> tuple[list[Resource], list[Resource]]:
        """Return the exceptions that name a policy, and those of both forms that take their
        place."""
        key = policy_key(legacy)
        old, new = list[Resource](), list[Resource]()
        for resource in self._together:
            if resource.kind != EXCEPTION or not excepts(resource, key):
                continue
            try:
                conversion = self.convert(resource)
            except ChartkitError:
                continue  # it is reported as an object of its own
            old.append(resource)
            stays = [conversion.remaining] if conversion.remaining is not None else []
            new += [Resource(body, resource.location) for body in (*conversion.documents, *stays)]
        return old, new

    def _takeover(self, key: str) -> Takeover:
        if key not in self._policies:
            raise NotConvertible(_NO_POLICY.format(policy=key), "exceptions")
        if key not in self._takeovers:
            try:
                self._takeovers[key] = self._policy(self._policies[key])[1]
            except CompileError as error:
                raise NotConvertible(f"policy {key}: {error.message}", "exceptions") from None
        return self._takeovers[key]

    def _policy(
        self, legacy: Resource, left: Mapping[int, NotConvertible] = _NONE
    ) -> tuple[Conversion, Takeover]:
        read = with_connections(legacy)
        accepted, refused = accepted_rules(read)
        policy = read_policy(accepted)
        indexes = (index for index in range(len(rules_of(legacy))) if index not in refused)
        rules = dict(zip(indexes, policy.rules, strict=True))
        parts: dict[int, list[Made]] = {}
        reasons = {**refused, **left}
        for index, rule in rules.items():
            if index in left:
                continue
            excepted = excepting(policy, rule, self._exceptions)
            try:
                converted = self._converted(rule, policy)
                parts[index] = [
                    replace(part, excepted=excepted)
                    for converted_rule in (converted, *converted.others)
                    for part in by_action(policy, rule, converted_rule)
                ]
            except NotConvertible as reason:
                reasons[index] = reason
        documents, said, faulty = self._assembled(policy, parts)
        reasons |= faulty
        if reasons and not self._target.splits:
            name = mapping_at(rules_of(legacy)[min(reasons)]).get("name")
            whole = NotConvertible(_WHOLE.format(rule=name))
            reasons |= dict.fromkeys(rules.keys() - reasons, whole)
            documents = []
        outcomes = []
        for index, body in enumerate(rules_of(legacy)):
            location = replace(legacy.location, path=f"/spec/rules/{index}")
            if index in reasons:
                outcomes.append(left_rule(body, location, reasons[index]))
            else:
                rule = rules[index]
                more = [*said.get(rule.name, ()), *([ACTS_NOWHERE] if refused else [])]
                more += [CONNECTIONS] if body != rules_of(read)[index] else []
                outcome = self._outcome(rule, location, parts[index], documents, more)
                outcomes.append(replace(outcome, refuses_updates=refuses_updates(rule, policy)))
        takeover = Takeover(
            policy,
            tuple(documents),
            tuple(rule for index, rule in rules.items() if index in reasons),
        )
        bodies = tuple(body for body, _ in documents)
        remaining = remaining_policy(legacy, sorted(reasons))
        standing = remaining_policy(read, sorted(reasons.keys() - refused))
        conversion = Conversion(legacy, bodies, tuple(outcomes), remaining, accepted, standing)
        return conversion, takeover

    def _converted(self, rule: Rule, policy: Policy) -> ConvertedRule:
        converted = _converted(rule, policy)
        if self._target.keeps_deletions and DELETIONS in converted.changes:
            with suppress(NotConvertible):
                return _converted(about_deletions(rule), policy)
        return converted

    def _outcome(
        self,
        rule: Rule,
        location: Location,
        parts: Sequence[Made],
        documents: Sequence[tuple[Body, Sequence[Made]]],
        more: Sequence[str],
    ) -> RuleOutcome:
        """Return the outcome of a rule that was converted; more: further changes."""
        taken = [
            (f"{body['kind']}/{body['metadata']['name']}", entries_before(rule, took))
            for body, took in documents
            if any(part.rule is rule for part in took) and "policyName" not in body["spec"]
        ]
        said = [change for part in parts for change in part.converted.changes]
        properties = [PROPERTIES] if rule.body.get("reportProperties") else []
        assumed = {path: kind for part in parts for path, kind in part.converted.assumed.items()}
        drops = DELETIONS in said and not self._target.keeps_deletions
        quiet = REMARKS | {DELETIONS} if drops else REMARKS
        changes = dict.fromkeys(text for text in (*said, *properties, *more) if text not in quiet)
        remarks = dict.fromkeys(change for change in said if change in REMARKS)
        return RuleOutcome(
            rule.name,
            type_of(rule.body),
            location,
            tuple(name for name, _ in taken),
            changes=tuple(changes),
            drops_deletions=drops,
            remarks=(*remarks, *filter(None, [described(assumed)])),
            assumed=assumed,
            entry=next((entries for _, entries in taken), 0),
        )

    def _assembled(
        self, policy: Policy, parts: Mapping[int, Sequence[Made]]
    ) -> tuple[
        list[tuple[Body, tuple[Made, ...]]],
        Mapping[str, Sequence[str]],
        Mapping[int, NotConvertible],
    ]:
        """Return the new policies, what is to be said of rules by their names, and the rules of
        which Kyverno would refuse the new form; parts: by the index of the rule."""
        there = policy.resource.namespace
        named = (name for namespace, name in self._names if namespace == there)
        others = frozenset(named) - {policy.name}
        faulty: dict[int, NotConvertible] = {}
        while True:
            made = [part for at, some in parts.items() if at not in faulty for part in some]
            documents, said = self._targeted(assemble(policy, made, others))
            refused = [document for document in documents if refusal([document[0]])]
            if not refused:
                return documents, said, faulty
            suspects = [
                at
                for at, some in parts.items()
                if any(
                    part.rule is made.rule for _, took in refused for part in took for made in some
                )
            ]
            for at in suspects:
                alone = self._targeted(assemble(policy, parts[at], others))[0]
                if reason := refusal([body for body, _ in alone]):
                    is_cel = parts[at][0].rule.kind is RuleKind.CEL
                    faulty[at] = NotConvertible(f"{reason}{_FAILS if is_cel else ''}")
            if not faulty.keys() & set(suspects):
                reason = refusal([body for body, _ in refused])
                faulty |= dict.fromkeys(suspects, NotConvertible(reason))

    def _targeted(
        self, documents: Sequence[tuple[Body, tuple[Made, ...]]]
    ) -> tuple[list[tuple[Body, tuple[Made, ...]]], Mapping[str, Sequence[str]]]:
        """Return the documents, Kubernetes' own where these are wanted and can be, and what is to
        be said of rules, by their names."""
        targeted: list[tuple[Body, tuple[Made, ...]]] = []
        said: dict[str, list[str]] = {}
        for body, took in documents:
            bodies, notes = self._native(body, took)
            targeted += ((body, took) for body in bodies)
            for part in took:
                said.setdefault(part.rule.name, []).extend(notes)
        return targeted, said

    def _native(self, body: Body, took: Sequence[Made]) -> tuple[Sequence[Body], Sequence[str]]:
        if not self._target.wants(body):
            return [body], ()
        try:
            if any(part.excepted for part in took):
                raise NotConvertible("an API server knows no exceptions, and there are some")
            return admission_policies(body, self._target), changes_of(body)
        except NotConvertible as reason:
            return [body], (f"it becomes a policy of Kyverno, and not of Kubernetes: {reason}",)


def policy_key(legacy: Resource) -> str:
    """Return the name by which an exception names a policy."""
    if legacy.kind == "Policy":
        return f"{legacy.namespace or DEFAULT_NAMESPACE}/{legacy.name}"
    return legacy.name


def _converted(rule: Rule, policy: Policy) -> ConvertedRule:
    converter = CONVERTERS.get(rule.kind)
    if converter is None:
        reason = f"rules of type {type_of(rule.body)} are not converted"
        raise NotConvertible(_REASONS.get(rule.kind, reason))
    if rule.cel_preconditions and rule.kind is not RuleKind.CEL:
        raise NotConvertible("celPreconditions next to a rule that is not CEL")
    if policy.apply_one and len(policy.rules) > 1:
        raise NotConvertible("applyRules: One makes rules depend on each other")
    try:
        return with_types_settled(lambda: converter(rule, policy))
    except NoLiteralError as error:
        raise NotConvertible(str(error)) from None


def excepts(exception: Resource, policy: str) -> bool:
    """Report whether a PolicyException names a policy (`name` or `namespace/name`)."""
    listed = mappings_at(exception.body, "spec", "exceptions")
    return any(entry.get("policyName") == policy for entry in listed)
