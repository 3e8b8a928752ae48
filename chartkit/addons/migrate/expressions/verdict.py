"""The three answers of a pattern as expressions: it holds, it does not apply, it fails; and the
names that expressions read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.build import FALSE, TRUE
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.presence import without_sizes
from chartkit.engine.cel.parser.parser import RESERVED
from chartkit.engine.cel.syntax.tree import Binary, Call, Conditional, Expr, Ident, Index, Select


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answers of a part of a pattern for a value.

    holds: whether it holds; skips: whether an anchor's condition is not met, so that it does not
    apply; allows: whether one of the two is so, as it is best said.
    """

    holds: Expr
    skips: Expr
    allows: Expr

    @property
    def always_applies(self) -> bool:
        """Report whether no condition can keep it from applying."""
        return self.skips == FALSE


PASSES = Verdict(TRUE, FALSE, TRUE)


def plain(holds: Expr) -> Verdict:
    """Return the verdict of a part without conditions."""
    return Verdict(holds, FALSE, holds)


def condition(holds: Expr) -> Verdict:
    """Return the verdict of a condition: where it is not met, its object does not apply."""
    return Verdict(holds, cel.negate(holds), TRUE)


def in_order(parts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of parts of which the first that does not hold decides."""
    if not parts:
        return PASSES
    first, rest = parts[0], in_order(parts[1:])
    if rest == PASSES:
        return first
    holds = conjunction(first.holds, rest.holds)
    skips = disjunction(first.skips, conjunction(first.holds, rest.skips))
    if first.always_applies:
        return Verdict(holds, skips, conjunction(first.holds, rest.allows))
    return Verdict(holds, skips, disjunction(first.skips, conjunction(first.allows, rest.allows)))


def any_of(parts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of alternatives: one that holds is enough; none applies if none does."""
    holds = disjunction(*(part.holds for part in parts))
    skips = conjunction(*(part.skips for part in parts))
    return Verdict(holds, skips, disjunction(holds, skips))


def if_present(present: Expr, inner: Verdict) -> Verdict:
    """Return the verdict of a part that counts only where there is something."""
    if present == TRUE:
        return inner
    absent = cel.negate(present)
    skips = inner.skips if inner.skips == FALSE else conjunction(present, inner.skips)
    return Verdict(disjunction(absent, inner.holds), skips, disjunction(absent, inner.allows))


def of_elements(elements: Expr, variable: str, inner: Verdict) -> Verdict:
    """Return the verdict of a part that is compared with every element of a list."""
    allows = _all(elements, variable, inner.allows)
    if inner.always_applies:
        return plain(allows)
    none_applies = conjunction(
        cel.compare(">", cel.method(elements, "size"), 0), _all(elements, variable, inner.skips)
    )
    return Verdict(conjunction(allows, cel.negate(none_applies)), none_applies, allows)


def _all(elements: Expr, variable: str, body: Expr) -> Expr:
    return TRUE if body == TRUE else cel.macro(elements, "all", variable, body)


def conjunction(*terms: Expr) -> Expr:
    """Return the terms joined by `&&`, leaving out terms that are true."""
    if FALSE in terms:
        return FALSE
    return cel.all_of(without_sizes(dict.fromkeys(term for term in terms if term != TRUE)))


def disjunction(*terms: Expr) -> Expr:
    """Return the terms joined by `||`, leaving out terms that are false."""
    if TRUE in terms:
        return TRUE
    return cel.any_of(dict.fromkeys(term for term in terms if term != FALSE))


def in_turn(tests: Sequence[tuple[Expr, bool]], *, every: bool) -> Expr:
    """Report whether tests hold, every one or any, each with whether it may fail; the first that
    decides ends the search: what may fail stands in a conditional, for && and || hide errors."""
    rest = cel.literal(every)
    for test, may_fail in reversed(tests):
        if rest == cel.literal(every) or not may_fail or test in (TRUE, FALSE):
            rest = conjunction(test, rest) if every else disjunction(test, rest)
        else:
            branches = (rest, FALSE) if every else (TRUE, rest)
            rest = cel.conditional(test, *branches)
    return rest


def either(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return `test ? then : otherwise` of two tests, shorter where one of them is a constant."""
    if test in (TRUE, FALSE) or then == otherwise:
        return otherwise if test == FALSE else then
    if then == TRUE:
        return disjunction(test, otherwise)
    if otherwise == FALSE:
        return conjunction(test, then)
    if then == FALSE:
        return conjunction(cel.negate(test), otherwise)
    if otherwise == TRUE:
        return disjunction(cel.negate(test), then)
    return cel.conditional(test, as_bool(then), as_bool(otherwise))


_GUARDS: Final = frozenset(("has", "hasValue", "isQuantity", "isSemver", "matches"))


def is_guard(term: Expr) -> bool:
    """Report whether a term asks what others may depend on: that something is there, or is a text
    of a form."""
    return isinstance(term, Call) and term.function in _GUARDS


def as_bool(expression: Expr) -> Expr:
    """Return an expression whose type CEL knows to be a bool: a value alone is compared."""
    match expression:
        case Ident() | Select() | Index() | Call("orValue"):
            return cel.equal(expression, cel.TRUE)
        case Conditional(condition, then, otherwise):
            return cel.conditional(condition, as_bool(then), as_bool(otherwise))
        case _:
            return expression


_SINGULAR: Final = {"ies": "y", "sses": "ss", "xes": "x", "s": ""}
_NAMES: Final = frozenset(
    ("name", "namespace", "uid", "kind", "nodeName", "serviceAccountName", "Name", "Namespace")
)


def loop_variable(place: Place, taken: Iterable[str]) -> str:
    """Return the name of a loop's variable: the list's field in the singular; `item`
    where that is not a name of CEL."""
    name = _last_field(place)
    for ending, singular in _SINGULAR.items():
        if name.endswith(ending) and name != ending:
            name = name.removesuffix(ending) + singular
            break
    else:
        name = "item"
    if not name.isidentifier() or name in RESERVED:
        name = "item"
    taken = frozenset(taken)
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def names_several(place: Place) -> bool:
    """Report whether a place's last field is named as lists are."""
    name = _last_field(place)
    return name.endswith("s") and not name.endswith("ss")


def is_name(place: Place) -> bool:
    """Report whether a place holds the name of an object, which has no wildcards."""
    return _last_field(place) in _NAMES


def _last_field(place: Place) -> str:
    """Return the name of the field that a place is, `item` for another expression."""
    steps = [step for step in place.optional if isinstance(step, str)]
    if steps:
        return steps[-1]
    expr = place.root
    while True:
        match expr:
            case Call(_, Call() | Select() | Binary() as inner) | Binary("+", inner):
                expr = inner
            case _:
                break
    return expr.field if isinstance(expr, Select) else "item"
