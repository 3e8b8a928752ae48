"""Every command, with mutated inputs: it succeeds, finds violations or refuses, and nothing else.

`tools/fuzz_commands.py` does the same for hours. Each test runs in a process that it forks, with
limits of its own.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from chartkit.cli.main import cli
from chartkit.helm import backend
from tests.data import from_table
from tools import fuzz_run
from tools.fuzz_commands import SCENARIOS, Totals, command_of, make_input
from tools.fuzz_mutations import VALUES
from tools.fuzz_run import Ended, Input, Places, judged, run_batch, run_here
from tools.fuzz_scenarios import Scenario

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

FAST = tuple(one for one in SCENARIOS if not one.starts_helm)
WITH_HELM = tuple(one for one in SCENARIOS if one.starts_helm)
SEEDS = 120
WRONG: tuple[Any, ...] = (None, "x", 1, 1.5, True, [], ["x"], [None], {}, {"a": "b"})
FIELDS = (
    *(
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "name",
        "namespace",
        "labels",
        "annotations",
        "rules",
        "match",
        "items",
    ),
    *("policies", "results", "resources", "values", "users", "clusters", "contexts", "answers"),
    *("body", "validations", "variables", "containers", "exceptions", "environments", "sections"),
)


@pytest.fixture(autouse=True)
def without_helm() -> None:
    """End the Helm of earlier tests: a fork that ends would remove the folder that it works in."""
    backend.close()


def findings(inputs: list[Input], folder: Path) -> list[tuple[str, str, int]]:
    """What broke, with the command; in a program of its own, for threads are missing in a fork."""
    program = (
        "import json, sys; from pathlib import Path; from tools.fuzz_run import *\n"
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


@pytest.mark.slow
def test_mutated_inputs(tmp_path: Path) -> None:
    assert findings([make_input(seed, FAST) for seed in range(1, SEEDS)], tmp_path) == []


@pytest.mark.slow
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
                environment = dict(one.environment)
                yield Input(seed, one.name, list(arguments), files, environment, one.left_out)


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


@pytest.mark.slow
def test_fields_of_another_type(tmp_path: Path) -> None:
    """Of more than 10,000 inputs few are in the suite; FUZZ_STEP=1 runs all."""
    assert findings(list(wrong_types())[:: int(os.environ.get("FUZZ_STEP", "307"))], tmp_path) == []


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> int:
    """The megabytes that an input may take: 500 more than this process has by now."""
    most = fuzz_run._megabytes_now() + 500
    monkeypatch.setattr("tools.fuzz_run.MEGABYTES", most)
    monkeypatch.setattr("tools.fuzz_run._HARD_BYTES", fuzz_run._HARD_BYTES + (most << 20))
    return most


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bounded: int) -> Any:
    def run(code: str) -> str:
        monkeypatch.setattr("tools.fuzz_run.SECONDS", 0.5 if "process_time" in code else 60.0)
        monkeypatch.setattr("tools.fuzz_run.chartkit", lambda _: exec(code))  # noqa: S102
        one = Input(1, "x", ["x", "-o", "json"], {"a": "b"}, {})
        [(_, ended)] = judged([one], tmp_path)
        return ended.wrong.replace(f"{bounded} MB", "500 MB")

    return run


_ABORT = """
import faulthandler, os, signal
faulthandler.disable()
os.kill(os.getpid(), signal.SIGABRT)
"""
"""Ends a process without a report among the lines of the test run."""


@pytest.mark.slow
@from_table("code", "wrong")
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

    for limit in ("_GROWN", "MEGABYTES"):  # This process may be large by now.
        monkeypatch.setattr(f"tools.fuzz_run.{limit}", 1 << 20)
    monkeypatch.setattr("tools.fuzz_run.chartkit", run)
    inputs = [Input(at, "x", [name], {}, {}) for at, name in enumerate(["a", "die", "b"])]
    assert len(list(run_batch(inputs, tmp_path))) == 2
    assert list(tmp_path.iterdir()) == []
    assert [ended.wrong for _, ended in judged(inputs, tmp_path)] == [
        "",
        "the process ended with 9",
        "",
    ]


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of all commands, with those of their groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        if isinstance(one, click.Group):
            yield from commands(one, (*words, name))
        if not isinstance(one, click.Group) or one.params:
            yield " ".join((*words, name))


def test_a_process_that_has_grown_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bounded: int
) -> None:
    assert bounded > 500
    monkeypatch.setattr("tools.fuzz_run.chartkit", lambda _: None)
    monkeypatch.setattr("tools.fuzz_run._GROWN", 1)
    inputs = [Input(at, "x", ["a"], {}, {}) for at in range(3)]
    assert len(list(run_batch(inputs, tmp_path))) == 1
    assert [(one.seed, ended.wrong) for one, ended in judged(inputs, tmp_path)] == [
        (0, ""),
        (1, ""),
        (2, ""),
    ]


def test_memory_is_that_of_one_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(arguments: list[str]) -> None:
        if arguments == ["much"]:
            taken = bytearray(200 << 20)
            taken[::4096] = b"x" * len(taken[::4096])

    for limit in ("_GROWN", "MEGABYTES"):  # This process may be large by now.
        monkeypatch.setattr(f"tools.fuzz_run.{limit}", 1 << 20)
    monkeypatch.setattr("tools.fuzz_run.chartkit", run)
    inputs = [Input(at, "x", [name], {}, {}) for at, name in enumerate(["a", "much", "b"])]
    before, much, after = run_batch(inputs, tmp_path)
    assert much.megabytes > before.megabytes + 150
    if Path("/proc/self/clear_refs").exists():
        assert after.megabytes < before.megabytes + 50


def test_each_input_starts_with_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the command before it wrote, removed or made."""
    seen: list[dict[str, str]] = []

    def run(arguments: list[str]) -> None:
        found = {str(each): each.read_text() for each in Path().rglob("*") if each.is_file()}
        seen.append(found)
        for action in arguments:
            exec(action)  # noqa: S102

    monkeypatch.setattr("tools.fuzz_run.chartkit", run)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    places = Places(tmp_path)
    actions = [
        "Path('a').write_text('longer')",
        "Path('b/c').unlink()",
        "import shutil; shutil.rmtree('b')",
        "Path('new').write_text('x'); Path('b/new').mkdir(); Path('b/new/d').write_text('x')",
        "Path('b/c').rename('a')",
        "Path('link').symlink_to('a'); Path('b/folder').symlink_to('..')",
    ]
    files = {"a": "1", "b/c": "2"}
    for action in [*actions, "pass"]:
        run_here(Input(1, "x", [action], files, {}), places)
    changed = {"a": "changed", "b/c": "2"}
    run_here(Input(1, "x", [], changed, {}), places)
    run_here(Input(1, "x", [], files, {}), places)
    assert seen == [files] * 7 + [changed, files]


@pytest.mark.slow
def test_totals_of_a_run_that_is_ended(tmp_path: Path) -> None:
    """SIGTERM has it print what was run so far."""
    program = [sys.executable, "-m", "tools.fuzz_commands", "--only", "eval jmespath"]
    running = subprocess.Popen(
        [*program, "--seconds", "300", "--scratch", str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    while not list(tmp_path.glob("*/*")):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    total = int(out.split()[0].replace(",", ""))
    assert total > 0
    assert total == sum(
        int(line.split()[0].replace(",", "")) for line in out.splitlines()[1:] if line.strip()
    )
    assert list(tmp_path.iterdir()) == []


def test_totals_add_up() -> None:
    totals = Totals()
    one = Input(1, "x", ["eval", "cel", "1"], {}, {})
    totals.add(one, Ended(0, 0.5, 90))
    totals.add(one, Ended(3, 0.1, 100, "exit 3"))
    assert (totals.inputs, totals.commands) == (2, {"eval cel": 2})
    assert "2 inputs in 4 s (0/s)" in totals.line(4.0)
    assert "exits 0: 1, 3: 1; at most 0.5 s and 100 MB; 1 findings" in totals.line(4.0)


SERVERS = {"lsp", "mcp", "playground"}
"""Commands that answer a client until it ends: tests/addons sends them what is hostile."""


def test_every_command_is_fuzzed() -> None:
    fuzzed = {command_of(one) for scenario in SCENARIOS for one in scenario.arguments}
    assert fuzzed == set(commands(cli)) - SERVERS


def test_commands_have_a_share_of_the_inputs() -> None:
    shares = dict.fromkeys(set(commands(cli)) - SERVERS, 0.0)
    for one in SCENARIOS:
        for each in one.arguments:
            shares[command_of(each)] += one.weight / len(one.arguments)
    least = min(shares, key=lambda name: shares[name])
    assert shares[least] / sum(shares.values()) >= 1 / 2_000, least


FAILS_ALONE = ("kubeconfig", "install", "rescue", "urls")
"""Scenarios of a server that does not answer, whose inputs are refused where it is asked."""


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_what_is_mutated_is_not_refused_as_it_is(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no mutation would get further than to the error."""
    for name in ("HOME", "XDG_CACHE_HOME", "KUBECONFIG"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.chdir(tmp_path)
    places = Places(tmp_path)
    known = {command_of(each): each for each in scenario.arguments}
    for arguments in known.values():
        files, environment = dict(scenario.files), dict(scenario.environment)
        one = Input(1, scenario.name, list(arguments), files, environment, scenario.left_out)
        ended = run_here(one, places)
        if scenario.name in FAILS_ALONE:
            assert re.search("does not answer|(?i:connection refused)", ended.said)
        else:
            assert (ended.code, ended.wrong) in ((0, ""), (1, "")), ended.said
