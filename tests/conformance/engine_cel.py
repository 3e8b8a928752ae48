"""Runs one recorded CEL case in every environment that it was recorded in.

The main answer holds in every environment that has none of its own (`alt`). Value, type, type
at compile time and the class of an error must agree, and the wording of the common errors; how
many of all messages agree to the letter is counted beside that.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.declarations import Environment, Variable
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.types import DYN
from chartkit.engine.cel.values import INT_MAX, INT_MIN
from tests.conformance.cel_answers import recorded_value
from tests.conformance.cel_host import recorded_host
from tests.conformance.engine import Verdict

Case = dict[str, Any]

LANGUAGE: Final = ("k8s", "vap", "vpol", "mpol", "gpol", "dpol")
KYVERNO: Final = ("vpol", "mpol", "gpol", "dpol")

_COMMON: Final = re.compile(
    "no such (overload|key)|division by zero|modulus by zero|integer overflow|unsigned integer "
    "overflow|index out of|found no matching overload|undeclared reference|Syntax error|undefined "
    "field|invalid (timestamp|duration|int|uint|double) |type conversion error|unsupported index "
    "type|expected type|does not support field selection"
)
"""Messages that people meet often: these must agree to the letter."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression came to; output: its type at compile time, where it compiled."""

    value: object = None
    type: str = ""
    output: str = ""
    error: str = ""
    message: str = ""


def judge(case: Case) -> Verdict:
    """The first thing in which a case's environments differ from what was recorded."""
    fault: str | None = None
    messages: list[tuple[str, str]] = []
    for name, wanted in _expected(case):
        got = evaluate(case, name)
        fault = fault or _differs(name, got, wanted)
        if wanted.error == got.error and wanted.message:
            messages.append((_decisive(wanted.message), got.message))
    same = sum(wanted == got for wanted, got in messages)
    return Verdict(fault, len(messages), len(messages) - same)


def run_case(case: Case) -> str | None:
    """What differs from the recorded answers; None where nothing does."""
    return judge(case).fault


def _expected(case: Case) -> Iterator[tuple[str, Answer]]:
    names = KYVERNO if case["id"].startswith("kyv-") else LANGUAGE
    for name in names:
        alternative = case.get("alt", {}).get(name)
        recorded = alternative or case
        if "error" in recorded:
            # Of an environment without an answer of its own only the class is known.
            known = alternative is not None or name == names[0]
            message = recorded["message"].removeprefix("program: ") if known else ""
            yield name, Answer(error=recorded["error"], message=message)
        else:
            output = case["outputType"] if name == names[0] else ""
            yield name, Answer(recorded["value"], recorded["type"], output)


def _differs(name: str, got: Answer, wanted: Answer) -> str | None:
    if wanted.error != got.error:
        return f"{name}: got {got}, want {wanted}"
    if wanted.error:
        said = _decisive(wanted.message)
        same = got.message == said or not _COMMON.search(said)
        return None if same else f"{name}: says {got.message!r}, want {wanted.message!r}"
    if wanted.output and wanted.output != got.output:
        return f"{name}: compiles to {got.output}, want {wanted.output}"
    # The comparison of texts tells 1 from 1.0 and from true, which Python's equality does not.
    if (got.type, repr(got.value)) != (wanted.type, repr(wanted.value)):
        return f"{name}: got {got.value!r} ({got.type}), want {wanted.value!r} ({wanted.type})"
    return None


def _decisive(message: str) -> str:
    """Return a message without the errors that cel-go's parser finds after a syntax error, where it
    guesses how the text goes on: ours stops at the first."""
    first, _, _ = message.partition("\nERROR: ")
    return first if "Syntax error" in first else message


def evaluate(case: Case, name: str) -> Answer:
    """What our engine makes of a case in an environment."""
    variables = {key: _input(value) for key, value in case["vars"].items()}
    environment = _environment("n" + name if "policyNamespace" in case else name, variables)
    try:
        program = compile_expression(case["expr"], environment)
    except CelCompileError as error:
        return Answer(error="compile", message=str(error))
    # The recorded names have the type that the reference gives `any`.
    output = re.sub(r"\bany\b", "google.protobuf.Any", str(program.output_type))
    try:
        value = program.evaluate(variables, recorded_host(case))
    except CelError as error:
        return Answer(output=output, error="eval", message=str(error))
    encoded, type_name = recorded_value(value)
    return Answer(encoded, type_name, output)


def _environment(name: str, variables: Mapping[str, object]) -> Environment:
    base = ENVIRONMENTS[name]
    more = {key: Variable(DYN) for key in variables if key not in base.variables}
    return base.extend(more) if more else base


def _input(value: Any) -> object:
    """A recorded variable: an integer beyond 64 bits is a double, as Kubernetes reads it."""
    if isinstance(value, dict):
        return {key: _input(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_input(item) for item in value]
    if value.__class__ is int and not INT_MIN <= value <= INT_MAX:
        return float(value)
    return value
