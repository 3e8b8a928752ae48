"""Random trees of CEL as an author writes it, with comments at any place."""

from hypothesis import strategies as st

from chartkit.engine.cel.syntax import tree
from chartkit.engine.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(
    "'\"\\abn\n\t{$", max_size=6
)
NAMES = st.sampled_from(
    ["a", "b", "object", "x", "variables", "optional", "longer_name_of_a_variable"]
)
FIELDS = NAMES | st.sampled_from(["namespace", "in", "true", "my-key", "a b", "spec"])
FUNCTIONS = st.sampled_from(["f", "size", "orValue", "startsWith", "contains", "has_it"])
COMMENTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(
    lambda text: " ".join(text.split())
)
LITERALS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(INT_MIN, INT_MAX) | st.integers(-3, 3),
    st.integers(0, UINT_MAX).map(Uint),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.binary(max_size=5),
).map(tree.Literal)
LEAVES = LITERALS | NAMES.map(tree.Ident)
STRUCTS = st.sampled_from(["Object", "a.B.c", ".x.Y"])
RELATIONS = ["==", "!=", "<", "<=", ">", ">=", "in", *"+-*/%"]


def _macro(
    target: tree.Expr, function: str, names: list[str], bodies: list[tree.Expr]
) -> tree.Expr:
    return tree.Call(function, target, (*map(tree.Ident, names), *bodies))


def _optional_list(elements: list[tree.Expr], marked: set[int]) -> tree.Expr:
    return tree.ListLiteral(tuple(elements), frozenset(marked & set(range(len(elements)))))


def _inner(part: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    """Trees of the parts."""
    parts = st.lists(part, max_size=3)
    some = st.lists(part, min_size=2, max_size=5).map(tuple)
    selection = st.builds(tree.Select, part, FIELDS)
    entries = st.lists(st.builds(tree.MapEntry, part, part, st.booleans()), max_size=3)
    fields = st.lists(st.builds(tree.FieldEntry, FIELDS, part, st.booleans()), max_size=3)
    quantifiers = st.sampled_from(["all", "exists", "filter", "map"])
    one, two = (st.lists(NAMES, min_size=n, max_size=n, unique=True) for n in (1, 2))
    bodies = st.lists(part, min_size=1, max_size=1)
    return st.one_of(
        st.builds(tree.Select, part, FIELDS, st.booleans()),
        st.builds(tree.Index, part, part, st.booleans()),
        st.builds(tree.Call, FUNCTIONS, st.none() | part, parts.map(tuple)),
        selection.map(lambda field: tree.Call("has", None, (field,))),
        st.builds(_macro, part, quantifiers, one, bodies),
        st.builds(_macro, part, st.sampled_from(["all", "transformList"]), two, bodies),
        st.builds(tree.Unary, st.sampled_from("!-"), part),
        st.builds(tree.Binary, st.sampled_from(RELATIONS), part, part),
        st.builds(tree.Chain, st.sampled_from(["&&", "||"]), some),
        st.builds(tree.Chain, st.sampled_from(["&&", "||"]), some),
        st.builds(tree.Conditional, part, part, part),
        st.builds(_optional_list, parts, st.sets(st.integers(0, 2))),
        entries.map(tuple).map(tree.MapLiteral),
        st.builds(
            tree.StructLiteral, st.sampled_from(["Object", "a.B.c", ".x.Y"]), fields.map(tuple)
        ),
    )


def trees(commented: bool = False) -> st.SearchStrategy[tree.Expr]:
    """Expressions that parse; their types do not fit."""

    def extended(part: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
        made = _inner(part)
        if not commented:
            return made
        lines = st.lists(COMMENTS, min_size=1, max_size=2).map(tuple)
        return made | st.builds(tree.Commented, made, lines)

    return st.recursive(LEAVES, extended, max_leaves=12)
