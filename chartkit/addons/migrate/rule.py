"""Converted rules: their parts of a new policy, and their context entries as variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.migrate.conditions import blocks_hold, is_error
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import (
    FAILING_DEFAULTS,
    FETCHED_DEFAULTS,
    NO_DATA,
    UNANSWERED,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import CONFIG_MAP, IMAGE, UNKNOWN, Place
from chartkit.addons.migrate.expressions.presence import (
    TOTAL,
    Known,
    cannot_fail,
    sure_reads,
    where_read,
)
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath import Constant, Names, Stream, Term, Translator, Value
from chartkit.addons.migrate.jmespath.comparisons import chosen, for_each
from chartkit.addons.migrate.jmespath.terms import Choice, computed, expression_of, is_path, type_of
from chartkit.addons.migrate.matching.facts import Operations, operations_in
from chartkit.addons.migrate.matching.scope import (
    WRITES,
    Condition,
    Scope,
    names_of,
    operations_of,
    scope_of,
    written_or_connected,
)
from chartkit.addons.migrate.texts import (
    query_term,
    resolved_query,
    resource_call,
    service_call,
    term_of,
    text_expression,
)
from chartkit.engine.cel.syntax import Expr, tree
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables import has_variable
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Body, Json


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the new policy; expression: a tree, or the text of one that was CEL."""

    name: str
    expression: Expr | str


@dataclass(frozen=True, slots=True)
class ConvertedRule:
    """The form that a rule becomes.

    conditions: its preconditions, behind the conditions of its scope; spec: the fields that its
    kind alone has (`validations`, `mutations`, `generate` …), with expressions as trees; changes:
    behaviour that differs, a sentence each; background: whether background scans look at it;
    assumed: types of fields that no table knows, by path; name: of the rule where it is another
    than the legacy one's; is_extended: whether Kyverno may extend it to pod controllers; others:
    what the rule takes next to it, such as its forms for controllers; may_fail: whether an
    expression of what it generates may fail.
    """

    kind: CelKind
    scope: Scope
    spec: Body
    conditions: tuple[Condition, ...] = ()
    variables: tuple[Variable, ...] = ()
    changes: tuple[str, ...] = ()
    background: bool = True
    assumed: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    is_extended: bool = True
    others: tuple[ConvertedRule, ...] = ()
    may_fail: bool = True


RuleConverter = Callable[[Rule, Policy], ConvertedRule]
"""The converter of a type of rule; raises `NotConvertible`."""


Hold = Callable[[str, Expr], Expr]
"""The text for an entry where it is named: by its name and its expression."""


@dataclass(frozen=True, slots=True)
class Context:
    """Names with the entries of a rule, once for conditions and once with variables.

    entries: the expressions of the variables by name, each after those that it names.
    """

    of_conditions: Names
    names: Names
    entries: Mapping[str, Expr]

    def used_in(self, expressions: Sequence[Expr]) -> tuple[Variable, ...]:
        """Return the variables that expressions name, directly or through each other."""
        used: list[Variable] = []
        wanted = list(expressions)
        for name, expression in reversed(tuple(self.entries.items())):
            if any(tree.count(expression, cel.variable(name)) for expression in wanted):
                used.insert(0, Variable(name, expression))
                wanted.append(expression)
        return tuple(used)


@dataclass(frozen=True, slots=True)
class Asked:
    """The requests that a rule decides.

    stated: what its preconditions say of operations; conditions: the other preconditions.
    """

    stated: Operations
    scope: Scope
    context: Context
    conditions: tuple[Condition, ...]


def asked_of_writes(
    rule: Rule, namespace: str, others: str = "", *, validated: bool = False
) -> Asked:
    """Return the requests that a rule about objects that are written decides.

    namespace: of a namespaced policy, empty for a ClusterPolicy; others: the reason why it does not
    convert where it names other operations; validated: whether an API server has checked the
    object before. Raises `NotConvertible`.
    """
    stated = operations_in(rule.preconditions)
    scope = scope_of(rule, written_or_connected(rule, stated.allowed))
    scope = replace(scope, object=replace(scope.object, validated=validated))
    if others and not operations_of(scope) <= set(WRITES):
        raise NotConvertible(others, "match")
    context = context_of(rule.context, names_of(scope), namespace)
    return Asked(stated, scope, context, preconditions_of(stated, context))


def preconditions_of(stated: Operations, context: Context) -> tuple[Condition, ...]:
    """Return the preconditions of a rule that say nothing of operations, as one condition."""
    if stated.rest is None:
        return ()
    met = blocks_hold(stated.rest, context.of_conditions, stated.preceding)
    return (Condition("preconditions", met),)


def context_of(entries: Json, names: Names, namespace: str) -> Context:
    """Return the names with a rule's context entries; raises `NotConvertible`.

    namespace: of a namespaced policy; empty for a ClusterPolicy.
    """
    expressions: dict[str, Expr] = {}

    def declared(name: str, expression: Expr) -> Expr:
        # An entry may have the name of one before it, which it reads.
        number, free = 2, name
        while free in expressions:
            number, free = number + 1, f"{name}{number}"
        expressions[free] = expression
        return cel.variable(free)

    inline = with_entries(entries, names, namespace)
    held = with_entries(entries, names, namespace, declared)
    return Context(inline, held, expressions)


def with_entries(
    entries: Json,
    names: Names,
    namespace: str,
    hold: Hold = lambda _name, expression: expression,
    path: str = "context",
) -> Names:
    """Return the names with context entries; hold: by default, an entry is its expression; path:
    of the entries in the rule.

    Raises `NotConvertible`.
    """
    for index, entry in enumerate(entries or ()):
        name = str(entry.get("name") or "")
        own = _variable_name(name)
        try:
            term, query = _term(entry, names, namespace)
            default = (entry.get("apiCall") or {}).get("default")
            if default is not None and isinstance(term, Value) and term.place.may_be_none:
                # What is not there is null, and what is there is asked for once.
                found = hold(own, cel.call("dyn", term.place.root))
                term = Value(replace(term.place, root=found, may_be_none=False))
                value = resolved_query(query, names, term) if query else term
                is_there = cel.not_equal(found, cel.NULL)
                held = _held(own, chosen(is_there, value, term_of(default, names)), hold)
            elif query.startswith("{"):
                # An object of several values: what they come from is computed once.
                held = resolved_query(query, names, _held(own, term, hold))
            else:
                value = resolved_query(query, names, term) if query else term
                guarded = _guarded(value, query, names)
                if guarded != value or (isinstance(term, Value) and term.place.may_be_none):
                    names = replace(names, failing=names.failing | {own})
                elif (
                    isinstance(value, Value)
                    and value == needed(value)
                    and not is_error(value, names)
                ):
                    names = replace(names, certain=names.certain | {own})
                held = _held(own, needed(guarded) if _is_needed(entry) else guarded, hold)
            if not isinstance(entry.get("variable"), dict) or _is_fetched(held, names):
                names = replace(names, fetched=names.fetched | {own})
            loose = _loose(name, entry, names)
            failing = names.failing | ({own} if loose else frozenset())
            names = replace(names, loose={**names.loose, **loose}, failing=failing)
            names = names.with_others(**{name: held})
        except NotConvertible as reason:
            reason.path = f"{path}/{index}"
            raise
    return names


def _guarded(value: Term, query: str, names: Names) -> Term:
    """Return what a query gives, an error where a variable in it is missing: also where there is
    nothing to ask with it."""
    terms = [query_term(variable.query, names) for variable in find_variables(query)]
    places = [term.place for term in terms if isinstance(term, Value) and term.strict]
    given = conjunction(*(place.is_present() for place in places))
    is_there = isinstance(value, Stream) and value.presence == cel.TRUE
    if given == cel.TRUE or not (is_there or (isinstance(value, Value) and value.strict)):
        return value
    return computed(cel.conditional(given, expression_of(value), cel.nothing()), type_of(value))


def _loose(name: str, entry: Body, names: Names) -> Mapping[str, Term]:
    """Return a variable that may fail as a term that is null then, for defaults of others; none
    for one that may not."""
    path = entry["variable"].get("jmesPath") if _is_needed(entry) else None
    if not path or "value" in entry["variable"]:
        return {}
    term = resolved_query(path, names, None)
    if needed(term) == term and not (isinstance(term, Value) and term.place.is_optional):
        return {}
    tolerant = names.with_others(**names.loose)
    return {name: Translator.lenient(resolved_query(path, tolerant, None, strict=False))}


def _is_needed(entry: Body) -> bool:
    """Report whether an entry is an error where its value is null: a variable without a default."""
    body = entry.get("variable")
    return isinstance(body, dict) and body.get("default") is None


def needed(term: Term) -> Term:
    """Return a term that is an error where it is null."""
    match term:
        case Choice():
            return for_each(term, needed)
        case Stream():
            return term.required()
        case Value(place, strict) if not strict and place.is_optional:
            value = place.settled().value
            if place.given != cel.TRUE:
                value = cel.conditional(place.given, value, cel.nothing())
            return Value(replace(place, root=value, optional=(), given=cel.TRUE))
    return term


def _variable_name(entry: str) -> str:
    """Return the name of a context entry as the name of a variable: `ns-roles` as `nsRoles`."""
    first, *others = re.split(r"\W+", entry, flags=re.ASCII)
    name = first + "".join(part[:1].upper() + part[1:] for part in others)
    return name if name.isidentifier() else f"entry{name}"


def _is_fetched(term: Term, names: Names) -> bool:
    """Report whether a term is read of what others answer."""
    if isinstance(term, Constant):
        return False
    if isinstance(term, Choice):
        return _is_fetched(term.first, names) or _is_fetched(term.second, names)
    expression = term.list() if isinstance(term, Stream) else term.place.value
    named = (*map(tree.Ident, (*_CLIENTS, *names.fetched)), *map(cel.variable, names.fetched))
    return any(tree.count(expression, name) for name in named)


_CLIENTS: Final = ("resource", "image", "http", "globalContext")
"""Variables that ask an API server, a registry or a service."""
_ASKING: Final = frozenset(("Get", "GetMetadata", "List", "Post"))
"""Their functions, whose failures are named by themselves."""


def _held(name: str, term: Term, hold: Hold) -> Term:
    match term:
        case Choice():
            return for_each(term, _required)
        case Constant():
            return term
        case Stream():
            kind = term.item.type
            return Value(Place(hold(name, term.list()), (), f"[]{kind}"))
        case Value(place, strict):
            if place.is_optional and not strict:
                value = hold(name, place.or_value(cel.NULL))
                given = cel.not_equal(value, cel.NULL)
                return Value(Place(value, (), place.type, path="", given=given), strict=False)
            value = hold(name, place.value)
            if not place.is_known:
                return Value(replace(place, root=value, optional=(), given=cel.TRUE))
            return Value(Place(value, (), place.type, path="", may_be_none=place.may_be_none))


def _required(term: Term) -> Term:
    """Return a term that is an error where there must be something and is not."""
    return Value(term.place.settled()) if isinstance(term, Value) and term.strict else term


def _term(entry: Body, names: Names, namespace: str) -> tuple[Term, str]:
    """Return what an entry asks for, and the path of what is wanted of it."""
    if isinstance(entry.get("variable"), dict):
        return _variable(entry["variable"], names), ""
    for kind, read in _KINDS.items():
        if isinstance(entry.get(kind), dict):
            answer = read(entry[kind], names, namespace)
            return answer, str(entry[kind].get("jmesPath") or "").strip()
    raise NotConvertible("a context entry of an unknown kind")


def _variable(body: Body, names: Names) -> Term:
    path, value = body.get("jmesPath"), body.get("value")
    current = None if value is None else term_of(value, names)
    if not path:
        if current is None:
            raise NotConvertible("a context entry without a value", "context")
        return current
    term = resolved_query(path, names, current)
    if body.get("default") is None:
        return term
    default = term_of(body["default"], names)
    if _is_fetched(term, names):
        names.note(FETCHED_DEFAULTS)
    try:
        may_fail = not names.loose.keys().isdisjoint(re.findall(r"\w+", path))
        if may_fail or (isinstance(term, Value) and (term.fails or not _is_careful(term.place))):
            raise NotConvertible("a default of an expression that may fail")
        return _or_default(Translator.lenient(term), default, names)
    except NotConvertible:
        # The default counts where what a function needs is not there, too.
        tolerant = names.with_others(**names.loose)
        term = Translator.lenient(resolved_query(path, tolerant, current, strict=False))
        if not isinstance(term, Value):
            raise
        if tree.functions(term.place.value) - TOTAL - _ASKING:
            names.note(FAILING_DEFAULTS)
        return _or_default(term, default, names)


_OBJECT: Final = ("request", "object")


def _or_default(given: Term, default: Term, names: Names) -> Term:
    """Return what a path finds; a default where it fails or finds null."""
    match given:
        case Choice():
            return for_each(given, lambda term: _or_default(term, default, names))
        case Constant(value):
            return default if value is None else given
        case Stream(presence=presence):
            return chosen(presence, replace(given, presence=cel.TRUE), default)
        case Value(place) if is_path(place.root) and not place.is_known:
            return Value(Place(place.or_value(expression_of(default)), (), UNKNOWN))
        case Value(place) if _tells_absence(place, names):
            alike = type_of(default) in (place.type, UNKNOWN) and place.given == cel.TRUE
            if alike and default != Constant(None):
                return computed(place.or_value(expression_of(default)), place.type)
            return chosen(place.is_present(), Value(place.settled()), default)
        case Value(place):
            object_ = names.objects.get(_OBJECT)
            whole = object_.place if isinstance(object_, Value) else None
            is_read = None if whole is None else where_read(place.value, whole)
            if is_read is not None:
                return chosen(is_read, Value(place.settled()), default)
    raise NotConvertible("a default of an expression that may fail")


def _is_careful(place: Place) -> bool:
    """Report whether it can be asked without an error whether there is a value."""
    return place.given == cel.TRUE or cannot_fail(
        cel.conditional(place.given, place.root, cel.NULL)
    )


def _tells_absence(place: Place, names: Names) -> bool:
    """Report whether a value can be absent and may be asked for all the same."""
    sure = names.others.keys() - names.failing - names.fetched
    there: Known = frozenset(("variables", _variable_name(name)) for name in sure)
    object_ = names.objects.get(_OBJECT)
    if isinstance(object_, Value):
        there |= sure_reads(place.root, object_.place)
    is_sure = cannot_fail(place.root, there) or _is_answer(place.root)
    return is_path(place.root) or (bool(place.optional) and is_sure) or place.given != cel.TRUE


def _is_answer(root: Expr) -> bool:
    """Report whether it is what an API server answers, or a field of this."""
    while isinstance(root, tree.Select):
        root = root.operand
    return isinstance(root, tree.Call) and root.function in _ASKING


def _config_map(body: Body, names: Names, namespace: str) -> Term:
    name = text_expression(str(body.get("name") or ""), names)
    where = text_expression(str(body.get("namespace") or namespace or "default"), names)
    place = [] if namespace else [where]
    call = cel.method(cel.ident("resource"), "Get", "v1", "configmaps", *place, name)
    names.note(NO_DATA)
    return Value(Place(call, (), CONFIG_MAP))


def _api_call(body: Body, names: Names, namespace: str) -> Term:
    if body.get("urlPath"):
        if body.get("default") is not None:
            names.note(UNANSWERED)
        return Value(resource_call(body, names, namespace))
    if body.get("default") is not None:
        names.note(FETCHED_DEFAULTS)
    return Value(service_call(body, names))


def _global_reference(body: Body, names: Names, _namespace: str) -> Term:
    name, _, projection = str(body.get("name") or "").partition(".")
    args = [text_expression(text, names) for text in (name, projection) if text]
    object_ = names.objects.get(_OBJECT)
    assumed = object_.place.assumed if isinstance(object_, Value) else None
    answer = cel.method(cel.ident("globalContext"), "Get", *args)
    path = "" if has_variable(name) else f"globalContext.{name}"
    return Value(Place(answer, (), path=path, assumed=assumed))


def _image_registry(body: Body, names: Names, _namespace: str) -> Term:
    if body.get("imageRegistryCredentials"):
        raise NotConvertible("the credentials of a registry")
    reference = text_expression(str(body.get("reference") or ""), names)
    data = cel.method(cel.ident("image"), "GetMetadata", reference)
    return Value(Place(data, (), IMAGE))


_KINDS: Final[dict[str, Callable[[Body, Names, str], Term]]] = {
    "configMap": _config_map,
    "apiCall": _api_call,
    "globalReference": _global_reference,
    "imageRegistry": _image_registry,
}
"""The value of an entry, by its key."""


def bound(expression: Expr, name: str, value: Expr) -> Expr:
    """Return an expression with a value in place of a name, bound to a variable if it is used
    twice."""
    variable = tree.Ident(name)
    if tree.count(expression, variable) > 1:
        return cel.bind(name, value, expression)
    return tree.replaced(expression, variable, value)
