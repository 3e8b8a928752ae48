"""Trees as short texts, for tests: `+(a@0, 1@4)@2` is `a + 1` with the place of each node."""

from chartkit.engine.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    StructLiteral,
)


def outline(expr: Expr, places: bool = True) -> str:
    """The shape of a tree; with places, the offset of each node behind it."""

    def inner(each: Expr) -> str:
        return outline(each, places)

    def at(offset: int) -> str:
        return f"@{offset}" if places else ""

    match expr:
        case Literal():
            text = repr(expr.value)
        case Ident():
            text = expr.name
        case Select():
            text = f"{'has' if expr.test_only else 'select'}({inner(expr.operand)}, {expr.field})"
        case Call():
            target = "" if expr.target is None else f"{inner(expr.target)}."
            text = f"{target}{expr.function}({', '.join(map(inner, expr.args))})"
        case ListLiteral():
            marks = ("?" if i in expr.optional_indices else "" for i in range(len(expr.elements)))
            pairs = zip(marks, map(inner, expr.elements), strict=True)
            text = f"[{', '.join(mark + element for mark, element in pairs)}]"
        case MapLiteral():
            text = "".join(
                f"{'?' if entry.optional else ''}{inner(entry.key)}:{at(entry.offset)} "
                f"{inner(entry.value)}; "
                for entry in expr.entries
            )
            text = f"{{{text}}}"
        case StructLiteral():
            text = "".join(
                f"{'?' if entry.optional else ''}{entry.field}:{at(entry.offset)} "
                f"{inner(entry.value)}; "
                for entry in expr.fields
            )
            text = f"{expr.name}{{{text}}}"
        case Comprehension():
            names = ", ".join(filter(None, (expr.iter_var, expr.iter_var2, expr.accu_var)))
            parts = (
                expr.iter_range,
                expr.accu_init,
                expr.loop_condition,
                expr.loop_step,
                expr.result,
            )
            text = f"fold({names}; {'; '.join(map(inner, parts))})"
    return text + at(expr.offset)
