"""`foreach` of validate rules: what must hold of every element of a list."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.conditions import conditions_hold
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.jmespath import Names, Translator, Value
from chartkit.migration.place import Place
from chartkit.migration.validate.deny import denied
from chartkit.migration.validate.pattern import any_pattern_verdict, pattern_verdict
from chartkit.migration.verdict import disjunction
from chartkit.model import Body


def every_element(loops: Sequence[Body], names: Names) -> list[Expr]:
    """Return what must hold, a fact for each loop; raises `NotConvertible`."""
    return [_loop(loop, names, index) for index, loop in enumerate(loops)]


def _loop(loop: Body, names: Names, index: int) -> Expr:
    path = f"validate/foreach/{index}"
    if loop.get("context"):
        raise NotConvertible("context entries of a foreach", f"{path}/context")
    if loop.get("elementScope") is False:
        raise NotConvertible("elementScope: false", f"{path}/elementScope")
    translator = Translator(names)
    stream = translator.stream(translator.text(str(loop.get("list") or "").strip()))

    def holds(item: Place) -> Expr:
        variables = {each.variable for each in stream.generators}
        inner = Names(names.objects, names.others, names.taken | variables)
        inner = inner.with_others(element=Value(item))
        found = _body(loop, inner, item, path)
        if loop.get("preconditions") is None:
            return found
        met = conditions_hold(loop["preconditions"], inner)
        return disjunction(cel.negate(met), found)

    return stream.all(holds)


def _body(loop: Body, names: Names, item: Place, path: str) -> Expr:
    if loop.get("deny") is not None:
        return cel.negate(denied(loop["deny"], names))
    if loop.get("pattern") is not None:
        return pattern_verdict(loop["pattern"], item, names.taken).allows
    if loop.get("anyPattern") is not None:
        return any_pattern_verdict(loop["anyPattern"], item, names.taken).allows
    raise NotConvertible("a foreach in a foreach", path)
