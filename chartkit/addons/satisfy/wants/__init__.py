"""The wants of each rule of a compiled policy, as formulas, for objects of one kind, and the
objects that the rule applies to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any as AnyType
from typing import Final

from chartkit.addons.satisfy.formula import (
    FALSE,
    TRUE,
    Any,
    Atom,
    Formula,
    Place,
    Source,
    Unknown,
    all_of,
    any_of,
    lenient,
    opposite,
    with_atoms,
)
from chartkit.addons.satisfy.texts import Language
from chartkit.addons.satisfy.values import Test, one_of, present
from chartkit.addons.satisfy.wants.cel import cel_formula
from chartkit.addons.satisfy.wants.comparisons import NotReadError
from chartkit.addons.satisfy.wants.conditions import conditions_formula
from chartkit.addons.satisfy.wants.paths import Names, Reader, Reading, Stream, images_of, names_of
from chartkit.addons.satisfy.wants.pattern import pattern_formula
from chartkit.addons.satisfy.wants.pod_security import pod_security_formula
from chartkit.engine import Phase, Request, RunnablePolicy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.engine.cluster_policy.match import compile_kinds
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, Rule, RuleKind
from chartkit.engine.kubernetes.kinds import (
    CRON_TEMPLATE,
    POD_SPECS,
    TEMPLATE,
    GroupVersionKind,
    kind_of,
)
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Body, Location, Resource, RuleResult, pointer_of, pointer_steps

RuleKey = tuple[str, str]
"""The ID of a policy and the name of a rule, as results have them."""
_PREFIXES: Final = tuple(tuple(template.split(".")) for template in (CRON_TEMPLATE, TEMPLATE))
REQUEST = "request"
"""The variable of places that no rule for pod controllers moves."""


def key_of(result: RuleResult) -> RuleKey:
    return result.policy_id, result.rule


@dataclass(frozen=True, slots=True, eq=False)
class Want:
    """The demands of one rule on objects of a kind.

    policy: as results name it (`RuleResult.policy_id`); applies: which objects it matches;
    conditions: its preconditions; passes: what it wants where both hold; source: the rule in the
    policy.
    """

    compiled: RunnablePolicy
    policy: str
    rule: str
    applies: Formula
    conditions: Formula
    passes: Formula
    source: Source

    @property
    def key(self) -> RuleKey:
        """The rule, as results have it."""
        return self.policy, self.rule

    @property
    def repair(self) -> Formula:
        """The formula by which an object that the rule matches passes."""
        is_refusal = isinstance(self.passes, Any) and not self.passes.parts
        return opposite(self.conditions) if is_refusal else self.passes

    @property
    def formula(self) -> Formula:
        """The formula that every object meets that the rule does not refuse."""
        applies = all_of(self.applies, self.conditions)
        return any_of(opposite(applies), self.passes)

    @property
    def location(self) -> Location:
        """The place of the rule."""
        return location_of(self.compiled, self.source)


def location_of(policy: RunnablePolicy, source: Source) -> Location:
    """Return the place of a want in the files of its policy."""
    resource: Resource = policy.policy.resource
    return resource.location.within(source.pointer)


def wants_of(policy: RunnablePolicy, resource: Resource) -> tuple[Want, ...]:
    """Return the wants of a policy's validating rules for objects of a resource's kind."""
    if isinstance(policy, CompiledPolicy):
        return tuple(_of_cluster_policy(policy, resource))
    if isinstance(policy, CompiledCelPolicy):
        return tuple(_of_cel_policy(policy, resource))
    return ()


def _of_cluster_policy(policy: CompiledPolicy, resource: Resource) -> Iterator[Want]:
    if Phase.VALIDATE not in policy.phases:
        return
    kind = kind_of(resource)
    written = {rule.name: index for index, rule in enumerate(policy.policy.rules)}
    for compiled in policy.rules_for(kind, "", Phase.VALIDATE):
        rule = compiled.rule
        if rule.kind is RuleKind.VERIFY_IMAGES:
            continue
        index = next(
            (
                number
                for name, number in written.items()
                if name == rule.name or name.startswith(written_name(rule.name))
            ),
            0,
        )
        source = Source(policy.policy.id, rule.name, f"/spec/rules/{index}")
        applies = match_formula(rule, kind, _below(source, "match"), policy.policy.namespace)
        if compiled.exceptions or policy.webhook is not None:
            applies = all_of(applies, Unknown("an exception or a match condition"))
        images = images_of(tuple(POD_SPECS.get(kind.kind, "spec").split(".")))
        names = names_of(rule.context, {"images": images}, source)
        conditions: Formula = TRUE
        if rule.preconditions is not None:
            below = _below(source, "preconditions")
            conditions = conditions_formula(rule.preconditions, below, names)
        if rule.cel_preconditions:
            conditions = all_of(conditions, Unknown("celPreconditions"))
        validation = _below(source, "validate")
        if rule.kind is RuleKind.POD_SECURITY:
            body = rule.validate.pod_security or {}
            passes: Formula = pod_security_formula(
                body, kind.kind, _below(validation, "podSecurity")
            )
        elif rule.kind is RuleKind.CEL:
            body = rule.validate.cel or {}
            passes = _of_expressions(body, _below(validation, "cel"), "expressions")
        elif rule.kind is not RuleKind.VALIDATE:
            passes = Unknown(str(rule.kind))
        else:
            passes = _block(rule.body.get("validate") or {}, Place(), validation, names)
        wants = (applies, conditions, with_atoms(passes, _as_written))
        yield Want(policy, policy.policy.id, rule.name, *wants, source)


def _below(source: Source, *steps: str | int) -> Source:
    return replace(source, pointer=source.pointer + pointer_of(*steps))


def _block(body: Body, place: Place, source: Source, names: Names) -> Formula:
    """Return the formula of a validation, or a loop's body: deny, patterns, or inner loops."""
    deny = body.get("deny")
    if deny is not None:
        conditions = deny.get("conditions")
        if conditions is None:
            return any_of()
        return opposite(conditions_formula(conditions, _below(source, "deny", "conditions"), names))
    if body.get("pattern") is not None:
        return pattern_formula(body["pattern"], place, _below(source, "pattern"))
    if body.get("anyPattern") is not None:
        return any_of(
            *(
                pattern_formula(pattern, place, _below(source, "anyPattern", index))
                for index, pattern in enumerate(body["anyPattern"])
            )
        )
    loops = enumerate(body.get("foreach") or ())
    return all_of(*(_loop(loop, _below(source, "foreach", at), names) for at, loop in loops))


def _loop(body: Body, source: Source, names: Names) -> Formula:
    try:
        reading = Reader(names, source).expression(str(body.get("list") or ""))
    except NotReadError:
        return Unknown(str(body.get("list")))
    if reading.function or not reading.streams:
        return Unknown(str(body.get("list")))
    parts: list[Formula] = []
    for stream in reading.streams:
        elements = stream if reading.is_list else stream.elements()
        parts.append(elements.every(lambda place: _iteration(body, place, source, names)))
    return all_of(*parts)


def _iteration(body: Body, place: Place, source: Source, names: Names) -> Formula:
    element = Reading((Stream((), place),))
    inner = names_of(tuple(body.get("context") or ()), {**names, "element": element}, source)
    wants = _block(body, place, source, inner)
    conditions = body.get("preconditions")
    if conditions is None:
        return wants
    met = lenient(conditions_formula(conditions, _below(source, "preconditions"), inner))
    return any_of(wants, opposite(met))


def _as_written(atom: Atom) -> Atom:
    """Return an atom whose source names the rule as it was written, without the template that
    Kyverno puts around a pattern for pod controllers."""
    source = atom.source
    if not source.rule.startswith("autogen-"):
        return atom
    return replace(atom, source=replace(source, pointer=_written(source.pointer)))


def _written(pointer: str) -> str:
    steps = pointer_steps(pointer)
    for at in (5, 6):
        for prefix in _PREFIXES:
            if steps[at : at + len(prefix)] == prefix:
                return pointer_of(*steps[:at], *steps[at + len(prefix) :])
    return pointer


def _of_expressions(body: Body, source: Source, key: str) -> Formula:
    variables = {
        str(item.get("name")): str(item.get("expression")) for item in body.get("variables") or ()
    }
    return all_of(
        *(
            cel_formula(
                str(entry.get("expression") or ""),
                variables,
                _below(source, key, number, "expression"),
            )
            for number, entry in enumerate(body.get(key) or ())
        )
    )


def _of_cel_policy(policy: CompiledCelPolicy, resource: Resource) -> Iterator[Want]:
    if Phase.VALIDATE not in policy.phases or policy.judges_json:
        return
    for evaluator in policy.evaluators_of(Attributes(Request(resource))):
        if evaluator.phase in (None, Phase.VALIDATE):
            source = Source(policy.policy.id, "", "/spec")
            conditions = _of_expressions(evaluator.policy.spec, source, "matchConditions")
            applies: list[Formula] = []
            constraints = evaluator.policy.constraints
            if constraints is not None:
                selector: AnyType = constraints.object_selector
                if selector is not None:
                    labels = Place("request", ("metadata", "labels"))
                    applies.append(
                        selector_formula(selector, labels, _below(source, "matchConstraints"))
                    )
                names = any(rule.names for rule in constraints.rules)
                if names or constraints.excluded or constraints.namespace_selector is not None:
                    applies.append(Unknown("matchConstraints"))
            passes = _of_expressions(evaluator.policy.spec, source, "validations")
            kind, rule = policy.policy.kind, ""
            if kind == "ValidatingAdmissionPolicy":
                rule = policy.policy.name
            elif kind != "ValidatingPolicy":
                passes = Unknown(kind)
            yield Want(policy, policy.policy.id, rule, all_of(*applies), conditions, passes, source)


def match_formula(rule: Rule, kind: GroupVersionKind, source: Source, namespace: str) -> Formula:
    """Return the formula under which a rule applies to objects of a kind; namespace: of its policy,
    empty for a ClusterPolicy."""
    parts = [_match_block(rule.match, kind, source)]
    if namespace:
        parts.append(Atom(_metadata("namespace"), one_of((namespace,)), source))
    if rule.exclude is not None:
        parts.append(opposite(_match_block(rule.exclude, kind, source)))
    return all_of(*parts)


def _metadata(*steps: str) -> Place:
    return Place(REQUEST, ("metadata", *steps))


def _match_block(match: Match, kind: GroupVersionKind, source: Source) -> Formula:
    if match.any:
        return any_of(*(_filter(filter_, kind, source) for filter_ in match.any))
    if match.all:
        return all_of(*(_filter(filter_, kind, source) for filter_ in match.all))
    return _filter(match.direct, kind, source)


def _filter(block: ResourceFilter, kind: GroupVersionKind, source: Source) -> Formula:
    if block.kinds and not compile_kinds(block.kinds)(kind, ""):
        return FALSE
    parts: list[Formula] = []
    if block.name:
        parts.append(_among(_metadata("name"), (block.name,), source))
    if block.names:
        parts.append(_among(_metadata("name"), block.names, source))
    if block.namespaces:
        parts.append(_among(_metadata("namespace"), block.namespaces, source))
    if block.operations:
        parts.append(TRUE if "CREATE" in block.operations else FALSE)
    if block.selector is not None:
        parts.append(selector_formula(block.selector, _metadata("labels"), source))
    for key, value in (block.annotations or {}).items():
        place = _metadata("annotations").child(key)
        is_open = has_wildcard(key)
        parts.append(Unknown(key) if is_open else _among(place, (str(value),), source))
    if block.namespace_selector is not None or block.has_user:
        parts.append(Unknown("a namespace's labels, or the user"))
    return all_of(*parts)


def _among(place: Place, wildcards: tuple[str, ...], source: Source) -> Formula:
    return any_of(*(Atom(place, _wildcard_test(wildcard), source) for wildcard in wildcards))


def _wildcard_test(wildcard: str) -> Test:
    matches = compile_wildcard(wildcard)
    probes = () if has_wildcard(wildcard) else (wildcard,)
    return Test(
        wildcard,
        lambda value: isinstance(value, str) and matches(value),
        probes,
        is_closed=bool(probes),
        languages=(Language(wildcard),),
        is_positive=True,
    )


def selector_formula(selector: LabelSelector, labels: Place, source: Source) -> Formula:
    """Return the formula under which labels meet a selector."""
    parts: list[Formula] = []
    for key, value in selector.labels.items():
        is_open = has_wildcard(key)
        parts.append(Unknown(key) if is_open else _among(labels.child(key), (value,), source))
    for expression in selector.expressions:
        atom = Atom(labels.child(expression.key), present(), source)
        if expression.operator in ("In", "NotIn"):
            atom = Atom(labels.child(expression.key), one_of(tuple(expression.values)), source)
        negative = expression.operator in ("NotIn", "DoesNotExist")
        parts.append(opposite(atom) if negative else atom)
    return all_of(*parts)
