"""Every command, with mutated inputs: it succeeds, finds violations or refuses, and nothing else.

`tools/fuzz_commands.py` does the same for hours. Each test runs in a process that it forks, with
limits of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.fuzz_commands import Input, judged, make_input, run_batch
from tools.fuzz_mutations import VALUES
from tools.fuzz_scenarios import FAST, WITH_HELM, Scenario

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SEEDS = 120
WRONG: tuple[Any, ...] = (None, "x", 1, 1.5, True, [], ["x"], [None], {}, {"a": "b"})
FIELDS = (
    *("metadata", "spec", "name", "namespace", "labels", "annotations", "rules", "match", "items"),
    *("policies", "results", "resources", "values", "users", "clusters", "contexts", "answers"),
    *("body", "validations", "variables", "containers", "exceptions", "environments", "sections"),
)


def findings(inputs: list[Input], folder: Path) -> list[tuple[str, str, int]]:
    """What broke, with the command; in a program of its own, for threads are missing in a fork."""
    program = (
        "import json, sys; from pathlib import Path; from tools.fuzz_commands import *\n"
        "inputs = [Input(**each) for each in json.load(sys.stdin)]\n"
        "found = [(e.wrong, ' '.join(i.arguments), i.seed)"
        " for i, e in judged(inputs, Path(sys.argv[1])) if e.wrong]\n"
        "print(json.dumps(found))"
    )
    given = json.dumps(
        [each.__dict__ if hasattr(each, "__dict__") else _body(each) for each in inputs]
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
    )
    found: list[tuple[str, str, int]] = json.loads(done.stdout)
    return found


def _body(one: Input) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


def test_mutated_inputs(tmp_path: Path) -> None:
    assert findings([make_input(seed) for seed in range(1, SEEDS)], tmp_path) == []


def test_mutated_inputs_of_commands_with_helm(tmp_path: Path) -> None:
    assert findings([make_input(seed, WITH_HELM) for seed in range(1, 5)], tmp_path) == []


def wrong_types() -> Iterator[Input]:
    """Each scenario with each of its fields of a document set to each wrong type."""
    seed = 0
    for one in FAST:
        for name, text in one.files.items():
            for changed in _changed(text):
                seed += 1
                arguments = one.arguments[seed % len(one.arguments)]
                files = {**one.files, name: changed}
                yield Input(seed, one.name, list(arguments), files, dict(one.environment))


def _changed(text: str) -> Iterator[str]:
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return
    for holder, key in _fields(documents):
        before = holder[key]
        for wrong in WRONG:
            holder[key] = wrong
            yield "\n---\n".join(json.dumps(each, default=str) for each in documents)
        holder[key] = before


def _fields(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in list(members):
        if key in FIELDS and depth < 4:
            yield value, key
        if isinstance(member, dict | list):
            yield from _fields(member, depth + 1)


def test_fields_of_another_type(tmp_path: Path) -> None:
    """Of more than 10,000 inputs a sixtieth is in the suite; FUZZ_STEP=1 runs all."""
    assert findings(list(wrong_types())[:: int(os.environ.get("FUZZ_STEP", "61"))], tmp_path) == []


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("tools.fuzz_commands.SECONDS", 0.5)

    def run(code: str) -> str:
        monkeypatch.setattr("tools.fuzz_commands.chartkit", lambda _: exec(code))  # noqa: S102
        one = Input(1, "x", ["x", "-o", "json"], {"a": "b"}, {})
        [(_, ended)] = judged([one], tmp_path)
        return ended.wrong

    return run


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("raise SystemExit(0)", ""),
        ("raise SystemExit(2)", ""),
        ("raise SystemExit(3)", "exit 3"),
        ("1 / 0", "ZeroDivisionError left the command"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", "the process ended with -6"),
        ("import sys; sys.stdout.write('{} \\x1b[2J')", "a control character"),
        ("import sys; sys.stdout.write('[NaN]')", "JSON that is none"),
        (
            "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass",
            "more than 0 s",
        ),
        ("x = bytearray(600 << 20); x[::4096] = b'x' * len(x[::4096])", "more than 500 MB"),
    ],
)
def test_the_fuzzer_finds_what_breaks(code: str, wrong: str, command: Any) -> None:
    found = command(code)
    assert found.startswith(wrong)
    assert bool(found) is bool(wrong)


def test_an_input_is_its_number() -> None:
    assert make_input(7) == make_input(7)
    assert len({str(make_input(seed)) for seed in range(50)}) == 50
    assert len(VALUES) > 100


def test_a_batch_that_ends_early_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(arguments: list[str]) -> None:
        if arguments == ["die"]:
            os._exit(9)

    monkeypatch.setattr("tools.fuzz_commands.chartkit", run)
    inputs = [Input(at, "x", [name], {}, {}) for at, name in enumerate(["a", "die", "b"])]
    assert len(run_batch(inputs, tmp_path)) == 2
    assert [ended.wrong for _, ended in judged(inputs, tmp_path)] == [
        "",
        "the process ended with 9",
        "",
    ]


def test_every_command_is_fuzzed() -> None:
    fuzzed = {
        tuple(one)[: 2 if one[0] in ("policies", "values", "eval", "vendor") else 1]
        for scenario in _all()
        for one in scenario.arguments
    }
    assert {name for name, *_ in fuzzed} >= {
        *("init", "render", "check-compat", "diff", "plan", "scan", "preview", "test"),
        *("policies", "vendor", "values", "explain", "eval"),
    }


def _all() -> tuple[Scenario, ...]:
    return (*FAST, *WITH_HELM)
