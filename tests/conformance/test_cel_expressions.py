"""Every CEL expression of real policies compiles in the environment of its kind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from chartkit.documents.reader import parse_yaml, read_file
from chartkit.engine.cel import CelCompileError, compile_expression
from chartkit.engine.cel.types import Type
from chartkit.errors import InputError
from tests.conformance.cel_expressions import Scope, scopes, with_variables
from tests.conformance.engine import read_cases
from tests.shared import shared

ENOUGH: Final = 550
"""How many different expressions there are at least; with fewer something is not read."""


def _scopes(folder: Path) -> Iterator[tuple[Path, Scope]]:
    for path in sorted(folder.rglob("*.yaml")):
        try:
            documents = read_file(path)
        except InputError:
            # Some files are wrong on purpose, and some are templates.
            continue
        for document in documents:
            for scope in scopes(document.body):
                yield path, scope


def _faults(scope: Scope) -> Iterator[tuple[str, str]]:
    fields: dict[str, Type] = {}
    for written in scope.expressions:
        environment = with_variables(scope.environment, fields)
        try:
            program = compile_expression(written.text, environment)
        except CelCompileError as error:
            yield written.text, str(error)
            continue
        if written.variable:
            fields = {**fields, written.variable: program.output_type}


@pytest.mark.slow
def test_every_expression_of_real_policies_compiles() -> None:
    faults = {
        f"{path}: {text}": fault
        for path, scope in _scopes(shared("conformance"))
        for text, fault in _faults(scope)
    }
    assert faults == {}


def test_expressions_of_recorded_policies_compile_or_fail_as_recorded() -> None:
    wrong = 0
    for case in _recorded():
        for document in case["policies"]:
            for scope in scopes(document):
                # What follows a complaint may be wrong because of it, and is not recorded.
                for _, fault in list(_faults(scope))[:1]:
                    wrong += 1
                    assert fault.splitlines()[0] in _texts(case), case["id"]
    assert wrong > 0


def test_enough_expressions_are_read() -> None:
    found = [scope for _, scope in _scopes(shared("conformance"))]
    for case in _recorded():
        found += [scope for document in case["policies"] for scope in scopes(document)]
    assert len({written.text for scope in found for written in scope.expressions}) >= ENOUGH


def _recorded() -> list[dict[str, Any]]:
    cases = read_cases(shared("conformance/engine/cel-policies.jsonl"))
    for case in cases:
        case["policies"] = [_parsed(policy) for policy in case["policies"]]
    return cases


def _parsed(policy: Any) -> Any:
    return parse_yaml(policy) if isinstance(policy, str) else policy


def _texts(case: dict[str, Any]) -> str:
    return "\n".join([case.get("cli_error", ""), *(row["message"] for row in case["expected"])])
