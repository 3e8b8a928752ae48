"""Conversions that are broken on purpose, to find what a proof does not see.

`python -m tools.mutate_conversions PATH…` converts the legacy policies in files, folders and
charts, changes one thing in what they become (an operator, a literal, a part left out, a setting)
and proves each of these as `chartkit migrate policies` does. It prints those of which no proof
finds a difference: equal ones, and gaps in the requests that proofs make. Exit code 1 if there are
any.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.options import InventoryOptions
from chartkit.addons.migrate.plan.inventory import read_inventory, without_copies
from chartkit.addons.migrate.proof import Proof, prove
from chartkit.engine import is_exception
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.syntax import Expr, format_expression, read, tree
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, Resource

_EXPRESSIONS: Final = frozenset(("expression", "schedule"))
_OPERATORS: Final = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "in": "=="
}  # fmt: skip
_FUNCTIONS: Final = {
    "all": "exists", "exists": "all", "startsWith": "endsWith", "endsWith": "contains",
    "contains": "startsWith", "exists_one": "exists", "lowerAscii": "upperAscii",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Mutant:
    """A converted policy with one change; change: what it is."""

    change: str
    documents: Sequence[Body]


def main() -> int:
    """Prove mutants and print those that are not told from the original."""
    parser = argparse.ArgumentParser(prog="tools.mutate_conversions", description=__doc__)
    parser.add_argument("path", nargs="+")
    parser.add_argument("--each", type=int, default=4, help="mutants of each policy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the names of policies")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for legacy in _policies(options.path):
        if options.only not in legacy.name:
            continue
        for mutant, outcome in _outcomes(legacy, options.each, options.seed):
            counts[outcome] += 1
            if outcome == "not found":
                _say(f"{legacy.location}: {legacy.name}: {mutant.change}")
    _say(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 1 if counts["not found"] else 0


def _policies(paths: Sequence[str]) -> Iterator[Resource]:
    options = InventoryOptions(
        paths=tuple(paths),
        values=(),
        named_namespace=None,
        release="release",
        kube_version=None,
        cluster=False,
        context=None,
        record=None,
    )
    inventory = read_inventory(options, sys.stdin, lambda _: None)
    for legacy in without_copies(inventory).objects:
        if not (legacy.refused or legacy.is_code or is_exception(legacy.resource)):
            yield legacy.current or legacy.resource


def _outcomes(legacy: Resource, count: int, seed: int) -> Iterator[tuple[Mutant, str]]:
    """Yield some mutants of what a policy becomes, with what a proof says of each; none where it
    says of the unchanged form that it differs or decides nothing."""
    try:
        conversion = convert(legacy)
        if not conversion.documents or not _proof(conversion, conversion.documents).equal:
            return
    except ChartkitError:
        return
    possible = list(mutants(conversion.documents))
    chance = random.Random(f"{seed} {legacy.name}")
    for mutant in chance.sample(possible, min(count, len(possible))):
        try:
            proof = _proof(conversion, mutant.documents)
        except ChartkitError:
            yield mutant, "refused"
        else:
            yield mutant, "not found" if proof.equal else "found"


def _proof(conversion: Conversion, documents: Sequence[Body]) -> Proof:
    left = [conversion.remaining] if conversion.remaining is not None else []
    forms = [Resource(body, conversion.legacy.location) for body in (*documents, *left)]
    options = dataclasses.replace(proof_options(conversion), stops_early=True)
    return prove(conversion.legacy, forms, options=options)


def mutants(documents: Sequence[Body]) -> Iterator[Mutant]:
    """Yield what documents become by one change."""
    for index, body in enumerate(documents):
        spec = body["spec"]
        for pointer, change, new in (*_settings(spec), *_expressions(spec, ())):
            other = copy.deepcopy(body)
            _set(other["spec"], pointer, new)
            place = ".".join(map(str, pointer))
            changed = [*documents[:index], other, *documents[index + 1 :]]
            yield Mutant(f"{body['kind']} {place}: {change}", changed)


_Change = tuple[tuple[str | int, ...], str, Json]


def _settings(spec: Body) -> Iterator[_Change]:
    """Yield changes of lists of rules and conditions, and of the action."""
    if spec.get("validationActions") == ["Deny"]:
        yield ("validationActions",), "Audit", ["Audit"]
    for key in ("matchConditions", "validations", "generate", "conditions"):
        listed = spec.get(key)
        if not isinstance(listed, list):
            continue
        for at in range(len(listed)):
            if len(listed) > 1 or key in ("matchConditions", "conditions"):
                yield (key,), f"without {at}", [*listed[:at], *listed[at + 1 :]]
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or []
    for at, rule in enumerate(rules):
        for key in ("operations", "resources", "apiGroups"):
            for value in rule.get(key) or () if len(rule.get(key) or ()) > 1 else ():
                kept = [one for one in rule[key] if one != value]
                yield ("matchConstraints", "resourceRules", at, key), f"without {value}", kept


def _expressions(value: Json, pointer: tuple[str | int, ...]) -> Iterator[_Change]:
    if isinstance(value, dict):
        for key, member in value.items():
            if key in _EXPRESSIONS and isinstance(member, str):
                yield from _changed_expressions(member, (*pointer, key))
            else:
                yield from _expressions(member, (*pointer, key))
    elif isinstance(value, list):
        for at, member in enumerate(value):
            yield from _expressions(member, (*pointer, at))


def _changed_expressions(text: str, pointer: tuple[str | int, ...]) -> Iterator[_Change]:
    try:
        expr = read(text, ENVIRONMENTS["mpol"])
    except CelCompileError:
        return
    before = format_expression(expr)
    for part, other in changed(expr):
        after = format_expression(other)
        if after != before:
            yield pointer, f"{before} -> {after} ({part})", after


def changed(expr: Any) -> Iterator[tuple[str, Any]]:
    """Yield an expression, or a part of one, with one thing changed, and what kind of thing."""
    yield from _replaced(expr)
    for field in dataclasses.fields(expr):
        value: Any = getattr(expr, field.name)
        if dataclasses.is_dataclass(value):
            for name, other in changed(value):
                yield name, dataclasses.replace(expr, **{field.name: other})
        elif isinstance(value, tuple):
            for at, member in enumerate(value):
                if dataclasses.is_dataclass(member):
                    for name, other in changed(member):
                        members = (*value[:at], other, *value[at + 1 :])
                        yield name, dataclasses.replace(expr, **{field.name: members})


def _replaced(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yield what takes the place of an expression."""
    match expr:
        case tree.Literal(value=bool() as value):
            yield "literal", tree.Literal(not value)
        case tree.Literal(value=int() | float() as value):
            yield "literal", tree.Literal(value + 1)
        case tree.Literal(value=str() as value):
            yield "literal", tree.Literal(f"{value}x")
        case tree.Binary() if expr.operator in _OPERATORS:
            yield "operator", dataclasses.replace(expr, operator=_OPERATORS[expr.operator])
        case tree.Chain() if expr.operator in ("&&", "||"):
            other = "||" if expr.operator == "&&" else "&&"
            yield "operator", dataclasses.replace(expr, operator=other)
            for at in range(len(expr.terms)):
                rest = (*expr.terms[:at], *expr.terms[at + 1 :])
                one = rest[0] if len(rest) == 1 else dataclasses.replace(expr, terms=rest)
                yield "part left out", one
        case tree.Unary(operator="!"):
            yield "negation", expr.operand
        case tree.Conditional():
            yield "branch", dataclasses.replace(expr, then=expr.otherwise, otherwise=expr.then)
        case tree.Call() if expr.function in _FUNCTIONS:
            yield "function", dataclasses.replace(expr, function=_FUNCTIONS[expr.function])
        case tree.Call(function="has"):
            yield "presence", tree.Literal(True)
        case tree.ListLiteral() if len(expr.elements) > 1:
            yield "element", dataclasses.replace(expr, elements=expr.elements[1:])
        case _:
            return


def _set(value: Json, pointer: Sequence[str | int], new: Json) -> None:
    *above, last = pointer
    for step in above:
        value = value[step]
    value[last] = new


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
