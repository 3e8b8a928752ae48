"""`chartkit scan --jobs N`: several processes find what one does, and end when they are told to."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from chartkit.documents.yaml_dump import dump_documents
from chartkit.report import FORMATS
from chartkit.scan.parallel.partition import sliced
from chartkit.scan.parallel.streaming import LEAST
from tests.data import beside
from tests.e2e.command import PROGRAM, chartkit
from tests.shared import shared

_TEXTS = beside(__file__)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")

POLICIES = _TEXTS["policies"]
CRD = _TEXTS["crd"]


def _objects(pick: random.Random, count: int) -> Iterator[dict[str, object]]:
    """Objects of several kinds with what others depend on among them, some without names."""
    for number in range(count):
        metadata: dict[str, object] = {
            "name": f"o{pick.randrange(count)}",
            "annotations": {"padding": "x" * pick.randrange(3000, 9000)},
        }
        if pick.random() < 0.5:
            metadata["labels"] = {"team": pick.choice(["a", "b", ""]), "tier": "gold"}
        if pick.random() < 0.1:
            del metadata["name"]
        if pick.random() < 0.1:
            reason = {"policy": "labels", "rule": "team", "reason": "because"}
            metadata["annotations"] = {"chartkit.dev/suppress": json.dumps([reason])}
        kind = pick.choice(["Pod", "Pod", "Pod", "ConfigMap", "Namespace", "Team", "Policy"])
        body: dict[str, object] = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
        if kind == "Pod":
            metadata["namespace"] = f"o{pick.randrange(count)}"
            image = pick.choice(["own/a", "nginx", "ghcr.io/x:latest"])
            body["spec"] = {"containers": [{"name": f"c{number}", "image": image}]}
        elif kind == "Team":
            body |= {"apiVersion": "example.com/v1", "spec": {"size": pick.randrange(10)}}
        elif kind == "Policy":
            body |= {"apiVersion": "kyverno.io/v1", "spec": {"rules": []}}
        yield body


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with policies, a large file of many objects, and small ones."""
    folder = tmp_path_factory.mktemp("jobs")
    pick = random.Random(7)
    (folder / "policies.yaml").write_text(POLICIES)
    (folder / "large.yaml").write_text(dump_documents(list(_objects(pick, 400))))
    assert (folder / "large.yaml").stat().st_size > LEAST
    (folder / "small").mkdir()
    for number in range(40):
        file = folder / "small" / f"{number:03}.yaml"
        file.write_text(dump_documents(list(_objects(pick, 8))))
    (folder / "small" / "crd.yaml").write_text(CRD)
    (folder / "small" / "values.yaml").write_text("a: 1\n")
    (folder / "small" / "kustomization.yaml").write_text("resources: []\n")
    return folder


def _scan(folder: Path, jobs: int, *more: str) -> tuple[int, str, str]:
    named = () if {"-p"}.intersection(more) else ("-p", "policies.yaml")
    done = chartkit(folder, "scan", *more, *named, "--jobs", str(jobs), SOURCE_DATE_EPOCH="0")
    return done.code, done.out, done.err


@pytest.mark.parametrize("name", sorted({*FORMATS} - {"policyreport", "openreports", "html"}))
def test_formats_do_not_depend_on_the_number_of_processes(folder: Path, name: str) -> None:
    one = _scan(folder, 1, "large.yaml", "small", "-o", name)
    assert one == _scan(folder, 3, "large.yaml", "small", "-o", name)
    assert one[0] == 1
    assert len(one[1]) > 1000


@pytest.mark.parametrize("name", ["policyreport", "openreports", "html"])
def test_formats_with_a_time_differ_in_it_alone(folder: Path, name: str) -> None:
    one = _scan(folder, 1, "large.yaml", "small", "-o", name)[1].splitlines()
    two = _scan(folder, 2, "large.yaml", "small", "-o", name)[1].splitlines()
    assert len(one) == len(two) > 1000
    times = [pair for pair in zip(one, two, strict=True) if pair[0] != pair[1]]
    assert all("seconds:" in line or "<time" in line or "20" in line for line, _ in times)
    assert len(times) < 10 or name != "html"


@pytest.mark.parametrize("jobs", [1, 2])
def test_files_in_parts_are_what_they_are_as_a_whole(folder: Path, jobs: int) -> None:
    values = folder / "whole.yaml"
    values.write_text("apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {a: b}\n")
    paths = ("large.yaml", "small", "-o", "json")
    assert _scan(folder, jobs, *paths, "-f", "whole.yaml") == _scan(folder, jobs, *paths)


@pytest.mark.parametrize(
    "options",
    [
        ("--detailed",),
        ("--select", "kind:Pod", "--skip", "namespace:o1*"),
        ("--select", "kind:Team"),
        ("--audit-warn", "--fail-on", "critical"),
        ("-q", "-o", "text"),
        ("--query", "results[?rule=='tier'].resource"),
        ("--exceptions", "exceptions.yaml"),
        ("-p", "policies.yaml", "-p", "pss-baseline"),
    ],
    ids=" ".join,
)
def test_options_do_not_depend_on_the_number_of_processes(
    folder: Path, options: tuple[str, ...]
) -> None:
    (folder / "exceptions.yaml").write_text(
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: d}\n"
        "spec: {exceptions: [{policyName: labels, ruleNames: [team]}],\n"
        "  match: {any: [{resources: {kinds: [Pod], names: ['o1*']}}]}}\n"
    )
    one = _scan(folder, 1, "large.yaml", "small", *options)
    assert one == _scan(folder, 2, "large.yaml", "small", *options)
    assert one[0] in (0, 1)


def test_baseline_counts_in_order(folder: Path, tmp_path: Path) -> None:
    text = []
    for jobs in (1, 2):
        baseline = tmp_path / f"{jobs}.yaml"
        options = ("--baseline", str(baseline))
        assert _scan(folder, jobs, "large.yaml", *options, "--update-baseline")[0] == 0
        entries = baseline.read_text()
        # Some that are known fewer times than they occur, which accepts the first of them.
        baseline.write_text(entries.replace("count: 2", "count: 1"))
        done = _scan(folder, jobs, "large.yaml", *options, "-o", "ndjson")
        assert done[0] == 1
        text.append((entries, done[1]))
    assert text[0] == text[1]


@pytest.mark.slow
def test_standard_input_and_compressed_files_are_read_in_parts(folder: Path) -> None:
    large = folder / "large.yaml"
    (folder / "large.yaml.gz").write_bytes(gzip.compress(large.read_bytes()))
    expected = _scan(folder, 2, "large.yaml", "-o", "json")
    code, out, err = _scan(folder, 2, "large.yaml.gz", "-o", "json")
    assert (code, out.replace(".gz", ""), err.replace(".gz", "")) == expected
    command = [str(PROGRAM), "scan", "-", "-p", "policies.yaml", "-o", "json", "--jobs", "2"]
    with large.open("rb") as stdin:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    name = large.name
    found = (done.stdout.replace("<stdin>", name), done.stderr.replace("<stdin>", name))
    assert (done.returncode, *found) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["list.yaml", "list.json"])
def test_lists_in_parts_are_what_they_are_as_a_whole(folder: Path, name: str) -> None:
    items = list(_objects(random.Random(3), 400))
    body = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}}
    if name == "list.json":
        text = json.dumps(body, indent=4)
    else:
        text = yaml.safe_dump(body, default_flow_style=False, width=10_000)
    (folder / name).write_text(text)
    values = folder / "whole.yaml"
    values.write_text("apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {a: b}\n")
    parts = sliced(str(folder / name), 0, is_named=True, shared=[re.compile(b"x")])
    assert len(list(parts)) > 3
    for output in ("text", "json"):
        two = _scan(folder, 2, name, "-o", output)
        assert two == _scan(folder, 1, name, "-o", output)
        assert two == _scan(folder, 1, name, "-o", output, "-f", "whole.yaml")
        assert two[0] == 1


def test_mistake_in_a_large_file_is_the_only_line(folder: Path) -> None:
    broken = folder / "broken.yaml"
    broken.write_text((folder / "large.yaml").read_text() + "---\na: [1\n")
    one = _scan(folder, 1, "broken.yaml")
    assert one == _scan(folder, 2, "broken.yaml")
    assert one[0] == 2
    assert len(one[2].splitlines()) == 1
    assert one[1] == ""


def test_a_folder_without_objects_is_a_row_and_the_rest_is_judged(folder: Path) -> None:
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    one = _scan(folder, 2, "large.yaml", "empty")
    assert one[:2] == (2, _scan(folder, 2, "large.yaml")[1])
    assert "empty: error unread: holds no Kubernetes object" in one[2]


def test_recorded_manifests_do_not_depend_on_the_number_of_processes() -> None:
    real = shared("real")
    files = sorted(str(each) for each in real.glob("*.yaml"))
    options = ("-p", "pss-restricted", "-o", "json")
    assert _scan(real, 1, *files, *options) == _scan(real, 2, *files, *options)


def _children(process: int) -> list[int]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text("utf-8")
    except OSError:
        return []
    return [int(each) for each in children.split()]


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds processes by /proc"
)


@pytest.fixture(scope="module")
def slow(folder: Path) -> Path:
    """A file whose scan takes seconds."""
    pick = random.Random(8)
    pods = [each for each in _objects(pick, 3000) if each["kind"] == "Pod"]
    file = folder / "slow.yaml"
    file.write_text(dump_documents(pods))
    # Helm renders the profile now, and is not a child of the scans.
    chartkit(folder, "scan", "small", "-p", "pss-restricted")
    return file


def _started(file: Path, *options: str) -> subprocess.Popen[str]:
    command = [
        str(PROGRAM),
        "scan",
        file.name,
        "-p",
        "policies.yaml",
        "-p",
        "pss-restricted",
        *options,
    ]
    return subprocess.Popen(
        command, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@needs_proc
def test_killed_worker_loses_and_doubles_nothing(slow: Path) -> None:
    with _started(slow, "--jobs", "1", "-o", "ndjson") as process:
        expected = process.communicate(timeout=120)
    with _started(slow, "--jobs", "2", "-o", "ndjson") as process:
        while process.poll() is None and len(_children(process.pid)) < 2:
            time.sleep(0.005)
        killed = _children(process.pid)
        os.kill(killed[0], signal.SIGKILL)
        found = process.communicate(timeout=120)
    assert killed
    assert process.returncode == 1
    assert found == expected


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_reports_what_was_found(slow: Path, number: signal.Signals) -> None:
    with _started(slow, "--jobs", "2", "-o", "ndjson") as process:
        while process.poll() is None and len(_children(process.pid)) < 2:
            time.sleep(0.005)
        time.sleep(0.3)
        children = _children(process.pid)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "interrupted: " in err.splitlines()[-1]
    assert "incomplete" in err
    assert "Traceback" not in err
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows[-1]["incomplete"] is True
    assert sum(rows[-1]["summary"].values()) == len(rows) - 1
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
