"""`foreach` of generate rules: an object for each element of a list."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.verdict import disjunction
from chartkit.addons.migrate.generate.source import (
    Step,
    applied,
    object_of,
    steps_of,
    target_namespace,
)
from chartkit.addons.migrate.generate.template import certain
from chartkit.addons.migrate.jmespath import Constant, Names, Value, stream_of
from chartkit.addons.migrate.texts import query_term, term_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.model import Body


def loop_steps(loop: Body, names: Names, namespace: str, path: str) -> Iterator[Step]:
    """Yield what a loop makes; raises `NotConvertible`."""
    if loop.get("context"):
        raise NotConvertible("context entries of a foreach", f"{path}/context")
    found = query_term(str(loop.get("list") or "").strip(), names)
    if isinstance(found, Constant):
        if not isinstance(found.value, list):
            raise NotConvertible("a foreach over a value that is no list", f"{path}/list")
        for element in found.value:
            if loop.get("preconditions") is not None or not isinstance(element, str):
                raise NotConvertible("conditions on elements that are written in the rule", path)
            yield from steps_of(loop, names.with_others(element=Constant(element)), namespace)
        return
    stream = stream_of(found, names)
    if isinstance(found, Value) and found.strict:
        # Without a list, nothing is generated: not by the other loops either.
        stream = stream.required()
    variables = {each.variable for each in stream.generators}

    def made(item: Place) -> Expr:
        inner = Names(names.objects, names.others, names.taken | variables)
        inner = inner.with_others(element=Value(item))
        call = _applied(loop, inner, namespace)
        if loop.get("preconditions") is None:
            return call
        return disjunction(cel.negate(conditions_hold(loop["preconditions"], inner)), call)

    expression = stream.all(made)
    yield Step({"expression": expression}, (expression,))


def _applied(loop: Body, names: Names, namespace: str) -> Expr:
    if (loop.get("clone") or {}).get("name") or (loop.get("cloneList") or {}).get("kinds"):
        raise NotConvertible("clones for each element of a list", "generate/foreach")
    made = object_of(loop, names, namespace)
    kind = (made["apiVersion"], made["kind"])
    target = target_namespace(loop, kind, names, namespace)
    made["metadata"].pop("namespace", None)
    body = certain(term_of(made, names))
    return applied(namespace, cel.literal("") if target is None else target, [body])
