"""Conversions that are broken on purpose, to find what a proof does not see.

`python -m tools.mutate_conversions FOLDER…` converts the legacy policies in folders, changes one
thing in what they become (an operator, a literal, a part left out, a setting) and proves each of
these. It prints those of which no proof found a difference: equal ones, and gaps in the requests
that proofs make. Exit code 1 if there are any.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.documents.reader import read_file
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.syntax import Expr, format_expression, read, tree
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, Resource

_LEGACY: Final = frozenset(("ClusterPolicy", "Policy", "CleanupPolicy", "ClusterCleanupPolicy"))
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
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=4, help="mutants of each policy")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of each proof")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the names of policies")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for legacy in _policies(options.folder):
        if options.only not in legacy.name:
            continue
        for mutant in _chosen(legacy, options.each, options.seed):
            outcome = _outcome(legacy, mutant, options.budget)
            counts[outcome] += 1
            if outcome == "not found":
                _say(f"{legacy.location}: {legacy.name}: {mutant.change}")
    _say(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 1 if counts["not found"] else 0


def _policies(folders: Iterable[Path]) -> Iterator[Resource]:
    names: set[str] = set()
    for folder in folders:
        for file in sorted([folder] if folder.is_file() else folder.rglob("*.yaml")):
            try:
                documents = read_file(file)
            except ChartkitError:
                continue
            for one in documents:
                body = one.body
                if not isinstance(body, dict) or body.get("kind") not in _LEGACY:
                    continue
                legacy = Resource(body, one.location)
                if legacy.api_version.startswith("kyverno.io/") and legacy.name not in names:
                    names.add(legacy.name)
                    yield legacy


def _chosen(legacy: Resource, count: int, seed: int) -> list[Mutant]:
    """Return some mutants of what a policy becomes, whose unchanged form has no difference."""
    try:
        conversion = convert(legacy)
    except ChartkitError:
        return []
    found = list(mutants(conversion.documents))
    return random.Random(f"{seed} {legacy.name}").sample(found, min(count, len(found)))


def _outcome(legacy: Resource, mutant: Mutant, budget: float) -> str:
    conversion = convert(legacy)
    options = proof_options(conversion, budget)
    forms = [Resource(body, legacy.location) for body in mutant.documents]
    if conversion.remaining is not None:
        forms.append(Resource(conversion.remaining, legacy.location))
    try:
        proof = prove(legacy, forms, options=options)
    except ChartkitError:
        return "refused"
    if not proof.equal:
        return "found"
    original = [Resource(body, legacy.location) for body in conversion.documents]
    same = prove(legacy, [*original, *forms[len(mutant.documents) :]], options=options)
    return "not found" if same.decided else "never decided"


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
