"""`sortBy`: a list in the order of what an expression makes of its elements."""

from __future__ import annotations

from chartkit.engine.cel.ast import Call, Comprehension, Expr, Ident, ListLiteral, Select
from chartkit.engine.cel.declarations import Builder, Macro, macro
from chartkit.engine.cel.macros.bindings import bound
from chartkit.engine.cel.macros.standard import mapped

_INPUT = "@__sortBy_input__"
_SORT = "@sortByAssociatedKeys"
_SORTABLE = (ListLiteral, Select, Ident, Comprehension, Call)


def _sort_by(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    if not isinstance(target, _SORTABLE):
        raise make.fail(
            target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression",
        )
    keys = mapped(make, make.ident(_INPUT), args)
    if keys is None:
        return None
    return bound(make, _INPUT, target, make.member_call(make.ident(_INPUT), _SORT, keys))


MACROS: tuple[Macro, ...] = (
    macro(
        "items.sortBy(x, key)",
        _sort_by,
        "The list in the order of the keys that the expression makes of its elements.",
        "['bb', 'a', 'ccc'].sortBy(s, -size(s))  // ['ccc', 'bb', 'a']",
    ),
)
