"""Deny conditions, and `foreach` of validate rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from chartkit.addons.migrate.conditions import (
    condition_holds,
    conditions_hold,
    conditions_met,
    may_fail,
)
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    ANY_MAP,
    MIXED,
    UNKNOWN,
    Place,
    not_extended,
)
from chartkit.addons.migrate.expressions.presence import path_of
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.jmespath import Names, Value, stream_of
from chartkit.addons.migrate.matching.facts import blocks_of
from chartkit.addons.migrate.rule import bound, with_entries
from chartkit.addons.migrate.texts import query_term
from chartkit.addons.migrate.validate.cel_rule import with_variables
from chartkit.addons.migrate.validate.pattern import any_pattern_verdict, pattern_verdict
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.conditions.parse import FlatList, parse_conditions
from chartkit.model import Body, Json


def denied(deny: Body, names: Names) -> Expr:
    """Report whether a `deny` refuses; raises `NotConvertible`."""
    conditions = deny.get("conditions")
    if not conditions:
        return cel.TRUE
    test = conditions_hold(conditions, names)
    if test == cel.FALSE and may_fail(conditions, names):
        # All that it refuses is what its conditions cannot be evaluated of.
        raise NotConvertible("its conditions can never hold", "validate/deny/conditions")
    return test


def denial_texts(body: Json, own: str, names: Names) -> list[tuple[Expr, str]]:
    """Return the texts of a denial in the order in which they are chosen, each with its condition.

    own: the rule's message, behind which Kyverno writes those of the conditions that decided.
    """
    parsed = parse_conditions(body)
    if isinstance(parsed, FlatList):
        return [
            (cel.TRUE, _joined((own, _joined((row.message for row in parsed.conditions), ";"))))
        ]
    every = [condition.message for condition in parsed.all or ()]
    return [
        (condition_holds(condition, names), _joined((own, condition.message, *every)))
        for condition in parsed.any or ()
    ] or [(cel.TRUE, _joined((own, *every)))]


def _joined(messages: Iterable[str], separator: str = "; ") -> str:
    return separator.join(filter(None, messages))


def refuse_messages(body: Json) -> None:
    """Raise `NotConvertible` for conditions with messages of their own."""
    blocks = blocks_of(body)
    if any(condition.message for condition in (*(blocks.any or ()), *(blocks.all or ()))):
        raise NotConvertible("a condition with a message of its own in a foreach")


def every_element(
    loops: Sequence[Body],
    names: Names,
    namespace: str,
    path: str = "validate/foreach",
    level: int = 0,
) -> list[Expr]:
    """Return what must hold, a fact for each loop; raises `NotConvertible`.

    namespace: of a namespaced policy, empty for a ClusterPolicy; path: of the loops in the rule;
    level: the number of loops that they stand in.
    """
    return [
        _loop(loop, names, namespace, f"{path}/{index}", level) for index, loop in enumerate(loops)
    ]


def _with_optional_steps(elements: Place, names: Names) -> Place:
    """Return the place of a list below another with all steps as optionals that may be absent: of
    a list that cannot be found, a foreach does nothing."""
    path, object_ = path_of(elements.root), names.objects.get(("request", "object"))
    is_below = path is not None and path[:1] == ("object",) and bool(elements.optional)
    if path is None or not is_below or not isinstance(object_, Value):
        return elements
    where = object_.place
    for index, step in enumerate(path[1:], 1):
        where = where.at(step) if isinstance(step, int) else where.child(step)
        if where.is_optional:
            root = cel.path("object", *path[1:index])
            return replace(elements, root=root, optional=(*path[index:], *elements.optional))
    return elements


def _loop(loop: Body, names: Names, namespace: str, path: str, level: int) -> Expr:
    query = str(loop.get("list") or "").strip()
    elements = query_term(query, names)
    if isinstance(elements, Value) and elements.fails:
        # Kyverno passes over a list that a missing field leads to.
        elements = query_term(query, names, strict=False)
    stream = stream_of(elements, names)
    first, *others = stream.generators
    first = replace(first, elements=_with_optional_steps(first.elements, names))
    stream = replace(stream, generators=(first, *others))

    def holds(item: Place) -> Expr:
        variables = {generator.variable for generator in stream.generators}
        item, judged = _element(item, loop, names)
        entries: dict[str, Expr] = {}

        def held(name: str, expression: Expr) -> Expr:
            entries[name] = expression
            return cel.ident(name)

        named = {"element": Value(item), f"element{level}": Value(item)}
        inner = replace(names, taken=names.taken | variables).with_others(**named)
        inner = with_entries(loop.get("context"), inner, namespace, held, f"{path}/context")
        inner = replace(inner, taken=inner.taken | entries.keys())
        if loop.get("deny") is not None:
            refuse_messages(loop["deny"].get("conditions") or [])
            test = cel.negate(denied(loop["deny"], inner))
        elif loop.get("pattern") is not None:
            pattern = with_variables(loop["pattern"], inner)
            test = pattern_verdict(pattern, judged, inner.taken).allows
        elif loop.get("anyPattern") is not None:
            patterns = with_variables(loop["anyPattern"], inner)
            test = any_pattern_verdict(patterns, judged, inner.taken).allows
        else:
            loops = loop.get("foreach")
            if not loops:
                raise NotConvertible("a foreach that says nothing", path)
            facts = every_element(loops, inner, namespace, f"{path}/foreach", level + 1)
            test = conjunction(*facts)
        if loop.get("preconditions") is not None:
            met = conditions_met(loop["preconditions"], inner)
            if may_fail(loop["preconditions"], inner):
                test = cel.conditional(met, test, cel.TRUE)
            else:
                test = disjunction(cel.negate(met), test)
        for name, expression in reversed(entries.items()):
            test = bound(test, name, expression)
        return test

    return stream.all(holds)


def _element(item: Place, loop: Body, names: Names) -> tuple[Place, Place]:
    """Return the place of an element, and the one that a pattern looks at: the object as a whole
    where the loop asks for it, and of elements that are not objects."""
    scope, object_ = loop.get("elementScope"), names.objects.get(("request", "object"))
    is_pattern = loop.get("pattern") is not None or loop.get("anyPattern") is not None
    if not (scope or is_pattern):
        return item, item
    element = item.taken_for(ANY_MAP)
    if scope is not False and element.is_map:
        return element, element
    may_be_object = scope is not False and element.type in (UNKNOWN, MIXED)
    if scope or may_be_object or not isinstance(object_, Value):
        raise NotConvertible("a pattern for elements that are not objects")
    # Patterns in loops are not extended to the templates of controllers.
    apart, whole = not_extended(object_.place), object_.place
    return item, whole if apart.type == whole.type else apart
