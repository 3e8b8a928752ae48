"""Expressions made at random from a grammar, over values of every kind that a document may hold.

Each form asks for parts of the types that it needs, and now and then gets a part of any type.
"""

import random
import re
from typing import Final

VALUES: Final[dict[str, object]] = {
    "i": 3,
    "zero": 0,
    "one": 1,
    "neg": -1,
    "big": 2**53 + 1,
    "f": 1.0,
    "g": 2.5,
    "t": True,
    "u": False,
    "s": "a",
    "e": "",
    "w": "ab/c:d",
    "n": None,
    "l": ["a", "b", 1, True, 1.0, None, [1], {"s": "a"}],
    "k": ["a", "b", "a"],
    "d": [1, 2, 3],
    "o": [],
    "m": {"s": "a", "i": 1, "l": ["a"], "m": {"s": "b"}},
    "p": {},
    "r": [{"s": "a", "i": 1}, {"s": "b", "m": {"s": "a"}, "k": ["c"]}, {"i": True}],
}
"""What `object` holds."""

VARIABLES: Final = {"object": VALUES, "x": VALUES["l"]}

GRAMMAR: Final[dict[str, str]] = {
    # any: an expression of any type
    "A": "T|N|C|L|M|P",
    # T: text
    "T": "'a' | 'ab' | '' | object.s | object.w | object.r[1].s | object.m.s | {T} + {T}"
    " | string({T}) | string({N}) | string({C}) | {L}.map(z, string(z)).join(',')"
    " | {T}.lowerAscii() | {T}.split('/')[0] | {p}.?{f}.orValue({T}) | object.?m[?{T}].orValue('z')"
    " | ({C} ? {T} : {T}) | cel.bind({+v}, {A}, {T}{-})",
    # N: number
    "N": "0 | 1 | 2 | 2.5 | 1u | object.i | object.one | object.f | object.big | {N} + {N}"
    " | {N} - {N} | {N} * {N} | {N} / {N} | {N} % {N} | size({T}) | size({L}) | {M}.size()"
    " | -{N} | int({N}) | {L}.map(z, 1).sum() | object.d[{N}] | object.?d[?7].orValue(0)"
    " | object.?d[?1].orValue({N}) | ({C} ? {N} : {N}) | cel.bind({+v}, {A}, {N}{-})",
    # C: condition
    "C": "true | false | object.t | {A} == {A} | {A} != {A} | {T} == 'a' | {T} != 'ab' | {A} == {c}"
    " | {A} != {c} | {N} > {N} | {N} <= {c} | {N} == {N} | {T} < {T} | {T} >= {T}"
    " | {A} in ['a', 'b'] | {A} in [1, 2] | {A} in [1.0] | {A} in {'a': 1} | {A} in [true]"
    " | {A} in {L} | {A} in {M}"
    " | {C} && {C} | {C} || {C} || {C} | !{C} | {T}.startsWith('a') | {T}.endsWith({T})"
    " | {T}.contains('b') | {T}.contains({T}) | {T}.matches('^a') | has({p}.{f}) | has({p}.?{f}.s)"
    " | {p}.?{f}.hasValue() | type({A}) == int | type({A}) == string | {L}.all({+v}, {C}{-})"
    " | {L}.exists({+v}, {C}{-}) | {M}.all({+v}, {C}{-}) | {L}.exists_one({+v}, {C}{-})"
    " | {L}.all(q, {+v}, {C}{-}) | {M}.exists(q, {+v}, {C}{-}) | ({C} ? {C} : {C})",
    # L: list
    "L": "object.k | object.d | object.l | object.r | object.o | x | ['a', 'b'] | [{A}, {A}]"
    " | {L}.map({+v}, {A}{-}) | {L}.map({+v}, {C}, {A}{-}) | {L}.filter({+v}, {C}{-})"
    " | {M}.map({+v}, {A}{-}) | {L}.transformList(q, {+v}, {A}{-}) | {L} + {L} | {T}.split('/')"
    " | object.?k.orValue([]) | object.?absent.orValue({L}) | ({C} ? {L} : {L})",
    # M: map
    "M": "object | object.m | object.p | {'s': 'a'} | object.r[1] | {'s': {A}} | {{T}: {A}}"
    " | {L}.transformMap(q, {+v}, {A}{-}) | {M}.transformMap(q, {+v}, {A}{-})"
    " | object.?m.orValue({}) | object.?absent.orValue({M}) | ({C} ? {M} : {M})",
    # P: a path from some variable; p: one that is not a number
    "P": "{n} | {n}.{f} | {n}.{f}.{f} | {n}['{f}'] | {n}.?{f} | {n}.{f}[0] | {n}[0] | {n}[?0]"
    " | {n}.?{f}.{f}",
    "p": "{n} | {n}.{f} | {n}.?{f}",
    # c: constant, f: field, v: the name of a macro's variable
    "c": "0 | 1 | 2 | -1 | 1.0 | 2.5 | 1u | true | false | null | 'a' | b'a' | [] | {}",
    "f": "s | i | m | r | k | d | l | f | t | n | zero | absent",
    "v": "a | b | x",
}
_FORMS: Final = {
    kind: [form.strip() for form in text.split(" | ")] for kind, text in GRAMMAR.items()
}
_FORMS["A"] = ["{T}", "{N}", "{C}", "{L}", "{M}", "{P}"]
_PART: Final = re.compile(r"\{([A-Za-z]|\+v|-)\}")
_TYPED: Final = frozenset("ATNCLM")


class _Writer:
    """Fills in the forms; names: the variables of the macros around."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names: list[str] = []

    def write(self, kind: str, depth: int) -> str:
        """An expression of a kind."""
        forms = _FORMS[kind]
        if depth <= 0 and kind in _TYPED and kind != "A":
            forms = [form for form in forms if "{" not in form or "{}" in form]
        return _PART.sub(lambda match: self._part(match[1], depth - 1), self._random.choice(forms))

    def _part(self, kind: str, depth: int) -> str:
        if kind == "n":
            return self._random.choice(["object", "object", "x", *self._names * 2])
        if kind == "-":
            self._names.pop()
            return ""
        if kind == "+v":
            self._names.append(self._random.choice(_FORMS["v"]))
            return self._names[-1]
        if kind not in _TYPED:
            return self.write(kind, depth)
        if self._random.random() < 0.05:
            kind = self._random.choice("PA")
        return f"dyn({self.write(kind, depth)})"


def expression(seed: int) -> str:
    """The expression of a seed."""
    return _Writer(seed).write("A", 5)
