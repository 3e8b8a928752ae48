"""The leaves of a policy in CEL: the paths that its expressions select, from their trees, and the
literals that these are compared with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from chartkit.addons.migrate.proof.leaves.leaf import Leaf, around_all, matching, place
from chartkit.addons.migrate.proof.leaves.paths import (
    ABSENT,
    AT,
    EACH,
    GLOBAL,
    IMAGE,
    Lookup,
    Path,
)
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
    nodes,
    parts,
)
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel_policies.policy import CelPolicy, ResourceRule
from chartkit.errors import InputError
from chartkit.kyverno.cel_literals import expressions_in
from chartkit.model import Json

Paths = tuple[Path, ...]
Scope = Mapping[str, Paths]

_ROOTS: Final = ("object", "oldObject", "request", "namespaceObject")
_LOOKING_UP: Final = frozenset(("resource", "globalContext", "image"))
_EXPRESSION: Final = frozenset({"expression"})
_UNKNOWN: Final = "x"
_MESSAGE: Final = "/message"
_CONDITIONS: Final = ("matchConditions/", "conditions[")
_OF_TARGETS: Final = ("mutations[", "targetMatch")
_LOGIC: Final = frozenset(("_&&_", "_||_", "!_", "_?_:_", "@not_strictly_false"))
_LISTS: Final = (
    *("targetMatchConstraints", "targetMatchConditions", "conditions", "mutations", "generate"),
    *("matchImageReferences", "images"),
)
"""Fields of a specification with expressions that only some kinds have."""
_CHAINED: Final = frozenset(("_+_", "_&&_", "_||_"))
_INDEX: Final = frozenset(("_[_]", "_[?_]", "_?._"))
_SELECTING: Final = frozenset(
    (
        "orValue",
        "or",
        "value",
        "dyn",
        "optional.of",
        "optional.ofNonZeroValue",
        "flatten",
    )
)
_TIMES: Final = ("2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z")
_COMPARING: Final = frozenset(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in", "hasValue"))


def cel_leaves(policy: CelPolicy) -> Iterator[Leaf]:
    """Yield the leaves of a policy's constraints and of each of its expressions."""
    if policy.constraints is not None:
        for rule in policy.constraints.rules:
            yield from _constrained(policy, rule)
        for rule in policy.constraints.excluded:
            yield from _constrained(policy, rule)
        for path, selector in (
            (("namespaceLabels",), policy.constraints.namespace_selector),
            (("object", "metadata", "labels"), policy.constraints.object_selector),
        ):
            for key, text in selector.labels.items() if selector is not None else ():
                yield Leaf((*path, key), (text, f"{text}x", ABSENT), policy.id, 1)
            for requirement in selector.expressions if selector is not None else ():
                values = (*requirement.values, "unlike", ABSENT)
                yield Leaf((*path, requirement.key), values, policy.id)
    reader = _Reader(policy)
    for name, text in _expressions(policy):
        yield from reader.leaves(name, text)


def _constrained(policy: CelPolicy, rule: ResourceRule) -> Iterator[Leaf]:
    if rule.names:
        path: Path = ("object", "metadata", "name")
        yield Leaf(path, (*rule.names, "unlike"), policy.id)


def _expressions(policy: CelPolicy) -> Iterator[tuple[str, str]]:
    """Yield the expressions of a policy, with the field that each stands in."""
    for named in policy.conditions:
        yield f"matchConditions/{named.name}", named.expression
    for index, validation in enumerate(policy.validations):
        yield f"validations[{index}]", validation.expression
        if validation.message_expression:
            yield f"validations[{index}]{_MESSAGE}", validation.message_expression
    for key in _LISTS:
        for index, text in enumerate(expressions_in(policy.spec.get(key), _EXPRESSION)):
            yield f"{key}[{index}]", text
    for named in policy.variables:
        yield f"variables/{named.name}", named.expression


class _Reader:
    """Reads the expressions of one policy."""

    def __init__(self, policy: CelPolicy) -> None:
        self._policy = policy.id
        self._namespace = policy.namespace
        self._texts = {named.name: named.expression for named in policy.variables}
        self._variables: dict[str, tuple[Paths, tuple[Json, ...]]] = {}
        self._found: list[tuple[Path, list[Json], int]] = []
        self._lookups: list[Lookup] = []
        self._asserted: Collection[int] = ()
        self._targets: Paths = ()

    def leaves(self, name: str, text: str) -> Iterator[Leaf]:
        """Yield the leaves of an expression."""
        root = _parsed(text)
        if root is None:
            return
        self._found, self._lookups = [], []
        is_condition = name.startswith(_CONDITIONS)
        self._asserted = set(_asserted(root)) if is_condition else ()
        is_of_targets = self._targets and name.startswith(_OF_TARGETS)
        try:
            paths = self._paths(root, {"object": self._targets} if is_of_targets else {})
            if name.startswith("targetMatchConstraints"):
                self._targets = tuple(path if EACH in path else (*path, EACH) for path in paths)
            for path in paths:
                self._note(path, ())
        except RecursionError:
            message = f"'{name}' of {self._policy} nests too deep for a proof"
            raise InputError(message, hint="--no-prove converts without one") from None
        group = f"{self._policy}/{name}"
        for lookup in self._lookups:
            yield Leaf(lookup.path, (), group, lookup=lookup)
            for key, text in lookup.labels:
                label = (*lookup.path, EACH, "metadata", "labels", key)
                yield Leaf(label, (text, ABSENT, f"{text}x"), group, 1)
        for path, values, met in self._found:
            for target in place(path):
                compared = () if name.endswith(_MESSAGE) else tuple(values)
                yield Leaf(target, compared, group, met)

    def _note(self, path: Path, values: Iterable[Json], met: int = 0) -> None:
        self._found.append((path, list(values), met))

    def _paths(self, node: Expr, scope: Scope) -> Paths:
        reader = _READERS.get(type(node))
        return () if reader is None else reader(self, node, scope)

    def _all(self, exprs: Iterable[Expr], scope: Scope) -> Paths:
        return tuple(dict.fromkeys(path for expr in exprs for path in self._paths(expr, scope)))

    def _ident(self, node: Ident, scope: Scope) -> Paths:
        return scope.get(node.name) or (((node.name,),) if node.name in _ROOTS else ())

    def _select(self, node: Select, scope: Scope) -> Paths:
        if isinstance(node.operand, Ident) and node.operand.name == "variables":
            return self._variable(node.field)[0]
        paths = tuple((*path, node.field) for path in self._paths(node.operand, scope))
        if node.test_only:
            for path in paths:
                self._note(path, (ABSENT,))
            return ()
        return paths

    def _variable(self, name: str) -> tuple[Paths, tuple[Json, ...]]:
        variable = self._variables.get(name)
        if variable is None:
            self._variables[name] = (), ()
            root = _parsed(self._texts.get(name, ""))
            if root is not None:
                variable = self._paths(root, {}), tuple(_literals(root))
            self._variables[name] = variable = variable or ((), ())
        return variable

    def _call(self, node: Call, scope: Scope) -> Paths:
        if node.function in _INDEX:
            paths = self._paths(node.args[0], scope)
            key = node.args[1]
            if isinstance(node.args[0], Ident) and node.args[0].name == "variables":
                return self._variable(str(key.value))[0] if isinstance(key, Literal) else ()
            if isinstance(key, Literal) and isinstance(key.value, str):
                return tuple((*path, key.value) for path in paths)
            self._all((key,), scope)
            return tuple((*path, AT) for path in paths)
        if isinstance(node.target, Ident) and node.target.name in _LOOKING_UP:
            return self._look_up(node, scope)
        paths = self._all(_operands(node), scope)
        if node.function in _LOGIC:
            return paths if node.function == "_?_:_" else ()
        if node.function in _SELECTING:
            return paths
        if node.function == "timestamp":
            # Conditions compare ages, of which no literal is one.
            for path in paths:
                self._note(path, _TIMES, 1)
            return paths
        meeting = list(_compared(node)) if node.id in self._asserted else []
        values = [*meeting, *self._values(node)]
        for path in paths:
            self._note(path, values, len(meeting))
        return () if node.function in _COMPARING else paths

    def _look_up(self, node: Call, scope: Scope) -> Paths:
        """Return the place of what a call of `resource` or `globalContext` asks for."""
        texts = [
            arg.value if isinstance(arg, Literal) and isinstance(arg.value, str) else _UNKNOWN
            for arg in node.args
        ]
        for path in self._all(node.args, scope):
            self._note(path, (_UNKNOWN,))
        if isinstance(node.target, Ident) and node.target.name == "image":
            if node.function != "GetMetadata":
                return ()
            self._note((IMAGE,), ())
            return ((IMAGE,),)
        if isinstance(node.target, Ident) and node.target.name == "globalContext":
            return ((GLOBAL, texts[0]),) if texts else ()
        if len(texts) < 2 or _UNKNOWN in texts[:2]:
            return ()
        where = [self._namespace, *texts[2:]] if self._namespace else texts[2:]
        namespace, name = [*where, "", ""][:2]
        labels = [
            (str(entry.key.value), str(entry.value.value))
            for argument in node.args
            for entry in (argument.entries if isinstance(argument, MapLiteral) else ())
            if isinstance(entry.key, Literal) and isinstance(entry.value, Literal)
        ]
        name = name if node.function == "Get" else ""
        lookup = Lookup(texts[0], texts[1], namespace, name, tuple(labels))
        self._lookups.append(lookup)
        return (lookup.path,)

    def _values(self, node: Call) -> list[Json]:
        literals = [*_literals(node), *self._named_literals(node)]
        texts = [literal for literal in literals if isinstance(literal, str)]
        if node.function == "matches":
            return [value for text in texts for value in matching(text)]
        values = around_all(literals)
        if node.function in ("startsWith", "endsWith", "contains"):
            values += [f"{text}{end}" for text in texts for end in "x1"]
            values += [f"{start}{text}" for text in texts for start in "x1"]
            values += [f"x{text}x" for text in texts]
        if node.function in ("optional.none", "has", "hasValue"):
            values.append(ABSENT)
        return values

    def _named_literals(self, node: Call) -> Iterator[Json]:
        for part in nodes(node):
            if (
                isinstance(part, Select)
                and isinstance(part.operand, Ident)
                and part.operand.name == "variables"
            ):
                yield from self._variable(part.field)[1]

    def _loop(self, node: Comprehension, scope: Scope) -> Paths:
        ranged = self._paths(node.iter_range, scope)
        for path in ranged:
            self._note(path, ())
        members = tuple((*path, EACH) for path in ranged)
        inner: dict[str, Paths] = {**scope}
        if node.iter_var2:
            values = tuple((*path, AT) for path in ranged)
            inner |= {node.iter_var: members, node.iter_var2: values}
        else:
            inner[node.iter_var] = members
        inner[node.accu_var] = self._paths(node.accu_init, scope)
        if isinstance(node.iter_range, ListLiteral):
            inner[node.iter_var] = ranged
        self._paths(node.loop_condition, inner)
        step = self._paths(node.loop_step, inner)
        if isinstance(node.iter_range, ListLiteral) and not node.iter_range.elements:
            return self._paths(node.result, inner)  # cel.bind
        self._paths(node.result, {**inner, node.accu_var: ()})
        stripped = tuple(path[:-1] if path in members else path for path in step)
        return tuple(dict.fromkeys(stripped))

    def _literal_list(self, node: Expr, scope: Scope) -> Paths:
        return self._all(parts(node), scope)


_READERS: Final[Mapping[type, Callable[..., Paths]]] = {
    Ident: _Reader._ident,
    Select: _Reader._select,
    Call: _Reader._call,
    Comprehension: _Reader._loop,
    ListLiteral: _Reader._literal_list,
    MapLiteral: _Reader._literal_list,
    StructLiteral: _Reader._literal_list,
}


def _asserted(node: Expr) -> Iterator[int]:
    """Yield the comparisons that must hold for a condition to hold, or of which one must."""
    if isinstance(node, Call) and node.function in ("_&&_", "_||_"):
        for part in _operands(node):
            yield from _asserted(part)
    elif isinstance(node, Call) and node.function in ("_==_", "@in"):
        yield node.id


def _compared(node: Call) -> Iterator[Json]:
    """Yield the literals that a value is equal to, or is among."""
    for operand in node.args:
        for item in operand.elements if isinstance(operand, ListLiteral) else (operand,):
            if isinstance(item, Literal):
                yield item.value


def _operands(node: Call) -> tuple[Expr, ...]:
    """Return the parts of a call; of a chain such as `a + b + c`, which nests as deep as it is
    long, those of all its calls."""
    if node.function not in _CHAINED:
        return parts(node)
    operands: list[Expr] = []
    first: Expr = node
    while isinstance(first, Call) and first.function == node.function:
        first, *others = parts(first)
        operands += reversed(others)
    return (first, *reversed(operands))


def _parsed(text: str) -> Expr | None:
    try:
        return parse(text, ENVIRONMENTS["vpol"]).root
    except CelCompileError:
        return None


def _literals(node: Expr) -> Iterator[Json]:
    """Yield the literals of an expression, without the keys of indices and what loops begin
    with."""
    target = node.target if isinstance(node, Call) else None
    if isinstance(target, Ident) and target.name in _LOOKING_UP:
        return
    if isinstance(node, Literal):
        if node.value is None or isinstance(node.value, bool | int | float | str):
            yield node.value
    elif isinstance(node, Call) and (node.function in _INDEX or node.function == "regex.replace"):
        yield from _literals(node.args[0])
    elif isinstance(node, Call) and node.function == "replace":
        # A replacement is not a value that the policy compares with.
        for part in parts(node)[:2]:
            yield from _literals(part)
    elif isinstance(node, Comprehension):
        yield from _literals(node.iter_range)
        yield from _literals(node.loop_step)
    else:
        for part in parts(node):
            yield from _literals(part)
