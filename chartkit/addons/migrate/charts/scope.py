"""Terms of Helm code in the scope of a block, as they are outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.charts.marks import INDEX
from chartkit.helm.syntax import Call, Inner, Literal, Path, Term

_NIL: Final = Literal("nil", False)
_EMPTY: Final = frozenset({"nil", "false", "0"})
_ROOT: Final = frozenset({"Values", "Release", "Chart", "Capabilities", "Files", "Template"})


def is_empty_constant(term: Term) -> bool:
    """Report whether a constant is what Helm takes for false."""
    return isinstance(term, Literal) and (not term.value if term.is_text else term.value in _EMPTY)


@dataclass(slots=True)
class Scope:
    """The variables of a block, its `.` and its `$`."""

    dot: Term
    root: Term
    variables: list[dict[str, Term]]

    def inner(self, dot: Term | None = None) -> Scope:
        """Return the scope of a block inside."""
        return Scope(self.dot if dot is None else dot, self.root, [*self.variables, {}])


def listed(term: Term) -> Sequence[Term] | None:
    """Return the items of a list that the template writes out."""
    if isinstance(term, Inner) and not term.fields:
        return listed(term.value)
    return term.arguments if isinstance(term, Call) and term.name == "list" else None


def resolved(term: Term, scope: Scope) -> Term:
    """Return a term as the policy's document would write it outside of blocks and templates."""
    match term:
        case Path("", fields):
            return _field(scope.dot, fields)
        case Path("$", fields):
            return _field(scope.root, fields)
        case Path(root, fields):
            value = next(
                (block[root] for block in reversed(scope.variables) if root in block), None
            )
            return term if value is None else _field(value, fields)
        case Inner(value, fields):
            return _field(resolved(value, scope), fields)
        case Call("dig", (*keys, default, holder)):
            value = _dug([resolved(key, scope) for key in keys], resolved(holder, scope))
            if value is not None:
                return resolved(default, scope) if value == _NIL else value
            arguments = tuple(resolved(argument, scope) for argument in term.arguments)
            return Call("dig", arguments)
        case Call(name, arguments):
            return Call(name, tuple(resolved(argument, scope) for argument in arguments))
    return term


def _dug(keys: Sequence[Term], holder: Term) -> Term | None:
    """Return a key of a dictionary that is written out, or of the root; None for others."""
    if len(keys) != 1 or not isinstance(keys[0], Literal):
        return None
    key = keys[0].value
    if isinstance(holder, Path) and holder.root in ("", "$") and not holder.fields:
        return None if key in _ROOT else _NIL
    value = _field(holder, (key,)) if isinstance(holder, Call) else None
    is_root = isinstance(value, Path) and value.root in ("", "$") and value.fields == (key,)
    return _NIL if is_root and key not in _ROOT else value


def _field(term: Term, fields: Sequence[str]) -> Term:
    """Return a field of a term. A field of a dictionary that is written out is its value."""
    if not fields:
        return term
    match term:
        case Path(root, above):
            return Path(root, (*above, *fields))
        case Inner(value, ()):
            return _field(value, fields)
        case Inner(value, above):
            return Inner(value, (*above, *fields))
        case Call("dict", arguments):
            pairs = dict(zip(arguments[::2], arguments[1::2], strict=False))
            pair = pairs.get(Literal(fields[0], True))
            return _NIL if pair is None else _field(pair, fields[1:])
        case Call("merge" | "mergeOverwrite", (first, second)):
            value = _field(first, fields)
            return _field(second, fields) if value == _NIL else value
    return Inner(term, tuple(fields)) if not isinstance(term, Literal) else _NIL


def indexed(term: Term) -> Term:
    """Return a term with the variable of the index in place of its value."""
    match term:
        case Call(name, _) if name == INDEX:
            return Path("$index", ())
        case Call(name, arguments):
            return Call(name, tuple(map(indexed, arguments)))
        case Inner(value, fields):
            return Inner(indexed(value), fields)
    return term
