"""CEL expressions of real policies, beside the reference implementation's Python binding."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from chartkit.engine.cel import ENVIRONMENTS, CelError, Program, compile_expression

OBJECTS = 25
ROUNDS = 5
EXTENSIONS = (ext_bindings.ExtBindings, ext_optional.ExtOptional, ext_strings.ExtStrings)


@dataclass(frozen=True, slots=True)
class Work:
    """An expression compiled by both, and objects to evaluate it over."""

    ours: Program
    theirs: Any
    objects: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Figures:
    """Microseconds: of one evaluation, and of compiling one expression."""

    expressions: int
    ours: float
    reused: float
    converted: float
    compiled: float
    first: float

    def __str__(self) -> str:
        return (
            f"CEL, {self.expressions} expressions × {OBJECTS} objects: {self.ours:.1f} µs each; "
            f"cel-expr-python {self.reused:.1f} µs ({self.reused / self.ours:.1f} ×), "
            f"{self.converted:.1f} µs with objects converted ({self.converted / self.ours:.1f} ×)\n"
            f"CEL, compile: {self.compiled:.0f} µs an expression, {self.first:.0f} µs with its code"
        )


def measure_cel(recorded: Path) -> Figures:
    """The figures for the expressions in a file of recorded cases; processor time, the best run."""
    environment = ENVIRONMENTS["k8s"]
    theirs = cel.NewEnv(
        variables={"object": cel.Type.DYN}, extensions=[make() for make in EXTENSIONS]
    )
    work = list(_work(recorded, theirs))
    evaluations = len(work) * OBJECTS
    activations = [(each.theirs, theirs.Activation(data)) for each in work for data in each.objects]
    sources = sorted({each.ours.source for each in work})
    return Figures(
        len(work),
        _best(lambda: _ours(work)) / evaluations,
        _best(lambda: [run.eval(one).plain_value() for run, one in activations]) / evaluations,
        _best(lambda: _converted(work, theirs)) / evaluations,
        _best(lambda: [compile_expression(each, environment) for each in sources]) / len(sources),
        _best(lambda: _first_runs(sources)) / len(sources),
    )


def _work(recorded: Path, theirs: Any) -> Iterator[Work]:
    """The realistic expressions that both can evaluate and whose values agree."""
    environment = ENVIRONMENTS["k8s"]
    for line in recorded.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if not case["group"].startswith("realistic") or "error" in case:
            continue
        variables = {"object": case["vars"].get("object")}
        ours = compile_expression(case["expr"], environment)
        try:
            run = theirs.compile(case["expr"])
            same = repr(run.eval(data=variables).plain_value()) == repr(ours.evaluate(variables))
        except (RuntimeError, ValueError, CelError):
            # A function of Kubernetes', or a variable beside the object.
            continue
        if same:
            yield Work(ours, run, [_named(variables, number) for number in range(OBJECTS)])


def _named(variables: Mapping[str, Any], number: int) -> Mapping[str, object]:
    copy = deepcopy(variables["object"])
    copy["metadata"]["uid"] = f"uid-{number}"
    return {"object": copy}


def _ours(work: Sequence[Work]) -> None:
    for each in work:
        for data in each.objects:
            each.ours.evaluate(data)


def _converted(work: Sequence[Work], theirs: Any) -> None:
    for each in work:
        for data in each.objects:
            each.theirs.eval(theirs.Activation(data)).plain_value()


def _first_runs(sources: Sequence[str]) -> None:
    environment = ENVIRONMENTS["k8s"]
    for each in sources:
        compile_expression(each, environment).prepare()


def _best(run: Callable[[], object]) -> float:
    """The processor time of the fastest run, in microseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) * 1e6
