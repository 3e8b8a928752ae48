"""Random expressions of CEL with types that mostly fit, and objects for them to be about."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Scope = Mapping[str, tuple[str, ...]]
"""The names that an expression may use, by type."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for an expression of a type, in which a name of another type may be used."""

    type: str
    name: str = ""
    name_type: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """A text with a mark (`$`) for each slot."""

    text: str
    slots: tuple[Slot, ...]

    def fill(self, parts: list[str]) -> str:
        """The text with an expression in each slot."""
        pieces = self.text.split("$")
        return pieces[0] + "".join(
            f"{part}{piece}" for part, piece in zip(parts, pieces[1:], strict=True)
        )


def shape(text: str, *types: str) -> Shape:
    """A shape; a type `t/x:u` stands for a slot of type t in which x has the type u."""
    slots: list[Slot] = []
    for each in types:
        kind, _, binding = each.partition("/")
        name, _, bound = binding.partition(":")
        slots.append(Slot(kind, name, bound))
    return Shape(text, tuple(slots))


def _comparisons(kind: str) -> list[Shape]:
    return [shape(f"($ {sign} $)", kind, kind) for sign in ("==", "!=", "<", "<=", ">", ">=")]


def _shared(kind: str) -> list[Shape]:
    """What can be of any type."""
    return [
        shape("($ ? $ : $)", "bool", kind, kind),
        shape("[$, $][$]", kind, kind, "index"),
        shape("{'a': $, 'b': $}[$]", kind, kind, "key"),
        shape("{'a': $}.?a.orValue($)", kind, kind),
        shape("{'a': $}[?$].orValue($)", kind, "key", kind),
        shape("optional.of($).value()", kind),
        shape("optional.none().orValue($)", kind),
        shape("cel.bind(v, $, $)", "int", f"{kind}/v:int"),
        shape("cel.bind(w, $, $)", "string", f"{kind}/w:string"),
        shape("dyn($)", kind),
    ]


def _folds(element: str, variable: str) -> list[Shape]:
    """Lists of `element`s out of other lists."""
    condition = f"bool/{variable}:{element}"
    return [
        shape(f"$.filter({variable}, $)", f"{element}s", condition),
        shape(
            f"$.map({variable}, $, $)", f"{element}s", condition, f"{element}/{variable}:{element}"
        ),
        shape("($ + $)", f"{element}s", f"{element}s"),
        shape("[$, $]", element, element),
        shape("[$]", element),
        *_shared(f"{element}s"),
    ]


_QUANTIFIERS = [
    shape(f"$.{name}({variable}, $)", f"{element}s", f"bool/{variable}:{element}")
    for name in ("all", "exists", "exists_one")
    for element, variable in (("int", "n"), ("string", "s"))
]

SHAPES: Mapping[str, list[Shape]] = {
    "int": [
        *(shape(f"($ {sign} $)", "int", "int") for sign in "+-*/%"),
        shape("-($)", "int"),
        shape("size($)", "string"),
        shape("size($)", "ints"),
        shape("$.size()", "strings"),
        shape("size($)", "map"),
        shape("int($)", "double"),
        shape("int($)", "string"),
        shape("int($)", "uint"),
        shape("$[$]", "ints", "index"),
        shape("$[$]", "map", "key"),
        shape("$.indexOf($)", "string", "string"),
        shape("int($)", "timestamp"),
        shape("$.getSeconds()", "duration"),
        shape("$.getFullYear()", "timestamp"),
        shape("$.getHours($)", "timestamp", "zone"),
        shape("$.getDayOfWeek()", "timestamp"),
        shape("math.greatest($, $)", "int", "int"),
        shape("math.least($, $, $)", "int", "int", "int"),
        *_shared("int"),
    ],
    "uint": [
        *(shape(f"($ {sign} $)", "uint", "uint") for sign in "+-*/%"),
        shape("uint($)", "int"),
        *_shared("uint"),
    ],
    "double": [
        *(shape(f"($ {sign} $)", "double", "double") for sign in "+-*/"),
        shape("-($)", "double"),
        shape("double($)", "int"),
        shape("math.ceil($)", "double"),
        *_shared("double"),
    ],
    "bool": [
        shape("($ && $)", "bool", "bool"),
        shape("($ || $)", "bool", "bool"),
        shape("!($)", "bool"),
        *_comparisons("int"),
        *_comparisons("uint"),
        *_comparisons("double"),
        *_comparisons("string"),
        *_comparisons("duration"),
        *_comparisons("timestamp"),
        shape("($ == $)", "ints", "ints"),
        shape("($ == $)", "map", "map"),
        shape("(dyn($) == $)", "int", "double"),
        shape("($ in $)", "int", "ints"),
        shape("($ in $)", "string", "strings"),
        shape("($ in $)", "key", "map"),
        shape("$.startsWith($)", "string", "string"),
        shape("$.endsWith($)", "string", "string"),
        shape("$.contains($)", "string", "string"),
        shape("$.matches($)", "string", "pattern"),
        shape("has($.a)", "map"),
        shape("optional.of($).hasValue()", "int"),
        *_QUANTIFIERS,
        *_shared("bool"),
    ],
    "string": [
        shape("($ + $)", "string", "string"),
        shape("string($)", "int"),
        shape("string($)", "bool"),
        # Not string($) of a duration: C++ writes fractions of seconds with three digits.
        shape("$.lowerAscii()", "string"),
        shape("$.upperAscii()", "string"),
        shape("$.trim()", "string"),
        shape("$.replace($, $)", "string", "string", "string"),
        shape("$.substring($)", "string", "index"),
        shape("$.charAt($)", "string", "index"),
        shape("$.join($)", "strings", "string"),
        shape("'%d-%s'.format([$, $])", "int", "string"),
        shape("$[$]", "strings", "index"),
        *_shared("string"),
    ],
    "duration": [
        shape("($ + $)", "duration", "duration"),
        shape("($ - $)", "timestamp", "timestamp"),
    ],
    "timestamp": [
        shape("($ + $)", "timestamp", "duration"),
        shape("($ - $)", "timestamp", "duration"),
        shape("timestamp($)", "int"),
    ],
    "ints": [shape("$.map(s, $)", "strings", "int/s:string"), *_folds("int", "n")],
    "strings": [
        shape("$.map(n, $)", "ints", "string/n:int"),
        shape("$.split($)", "string", "separator"),
        shape("{$: 1}.map(k, k)", "string"),
        *_folds("string", "s"),
    ],
    "map": [
        shape("{'a': $, 'b': $}", "int", "int"),
        shape("{$: $}", "key", "int"),
        shape("{'a': $, ?'c': optional.of($)}", "int", "int"),
        *_shared("map"),
    ],
}

LEAVES: Mapping[str, tuple[str, ...]] = {
    "int": (
        "0",
        "1",
        "-2",
        "7",
        "9223372036854775807",
        "object.n",
        "object.o.n",
        "object.?x.orValue(3)",
    ),
    "uint": ("0u", "1u", "18446744073709551615u"),
    "double": ("0.0", "1.5", "-2.25", "1e300"),
    "bool": (
        "true",
        "false",
        "object.b",
        "has(object.n)",
        "has(object.o.x)",
        "object.?t.hasValue()",
    ),
    "string": (
        "''",
        "string(1e6)",
        "'a'",
        "'b-c'",
        "' É '",
        r"'\"\n'",
        "object.t",
        "object.o.t",
        "object.m.a",
    ),
    "ints": ("[1, 2, 3]", "object.l", "[0]"),
    "strings": ("['a', 'b']", "object.w", "['']"),
    "map": ("{'a': 1}", "object.m", "{'b': 2, 'c': 3}"),
    "duration": ("duration('90m')", "duration('-1.5s')", "duration('0')", "duration('1x')"),
    "timestamp": (
        "timestamp('2024-02-29T23:59:59.5Z')",
        "timestamp('1969-12-31T20:00:00-05:00')",
        "timestamp('9999-12-31T23:59:59Z')",
        "timestamp('2024-02-30T00:00:00Z')",
    ),
    "zone": ("'UTC'", "'+05:30'", "'-11:00'"),
    "index": ("0", "1", "2", "-1"),
    "key": ("'a'", "'b'", "object.t"),
    "separator": ("'a'", "'-'", "' '"),
    "pattern": ("'a+'", "'^b'", "'[a-c]*$'", "'('"),
}

TYPES = tuple(SHAPES)


@st.composite
def expressions(draw: st.DrawFn, kind: str = "", depth: int = 4, scope: Scope | None = None) -> str:
    """An expression of a type (empty: any of them), nested so deep at most."""
    kind = kind or draw(st.sampled_from(TYPES))
    names = scope or {}
    if depth == 0 or kind not in SHAPES or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(names.get(kind, ()) * 2 + LEAVES[kind]))
    chosen = draw(st.sampled_from(SHAPES[kind]))
    parts: list[str] = []
    for slot in chosen.slots:
        inner = dict(names)
        if slot.name:
            inner = {each: tuple(n for n in ns if n != slot.name) for each, ns in inner.items()}
            inner[slot.name_type] = (*inner.get(slot.name_type, ()), slot.name)
        parts.append(draw(expressions(slot.type, depth - 1, inner)))
    return chosen.fill(parts)


_NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
_TEXTS = st.text("abÉ -.\n", max_size=4)
_MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "n": _NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | st.none(),
    "t": _TEXTS,
    "b": st.booleans() | st.none(),
    "l": st.lists(_NUMBERS, max_size=4),
    "w": st.lists(_TEXTS, max_size=4),
    "m": st.dictionaries(st.sampled_from("abc"), _NUMBERS, max_size=3),
}

objects: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={**_MEMBERS, "o": st.fixed_dictionaries({}, optional=_MEMBERS)}
)
"""Objects with the fields that the expressions ask for, or without them."""

TOKENS = (
    *("a", "b", "object", "has", "all", "map", "x", "if", "in", "true", "null", "__class__"),
    *("0", "1", "-1", "2u", "1.5", "0x", "1e", "''", '"', "'a'", "b'", "r'", "'''", "`a b`", "`"),
    *(".", "?", "[", "]", "{", "}", "(", ")", ",", ":", "&&", "||", "!", "-", "+", "*", "%", "=="),
    *(
        "<",
        ">=",
        "&",
        "#",
        "\\",
        "\n",
        " ",
        "é",
        "\0",
        "//",
        ".map(x,",
        ".all(x,",
        "has(",
        "cel.bind(a,",
    ),
)

garbage: st.SearchStrategy[str] = st.lists(st.sampled_from(TOKENS), max_size=14).map("".join)
"""Texts of CEL's signs and words in no order."""
