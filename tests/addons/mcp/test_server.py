from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from chartkit import __version__
from chartkit.addons.mcp.tools import tools
from chartkit.helm.sandbox.confine import Exit
from tests.addons.mcp.session import COMMAND, Reply, ask, check, talk
from tests.data import beside
from tests.files import write_files

_TEXTS = beside(__file__)

pytestmark = pytest.mark.slow

POD = _TEXTS["pod"]
TEAM = _TEXTS["team"]
LABEL = _TEXTS["label"]
TEST = _TEXTS["test"]
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: app\nversion: 0.1.0\n",
    "chart/values.yaml": "image: registry.example/app:1.0\nhost: true\n",
    "chart/templates/pod.yaml": POD.replace(
        "spec:\n", "spec:\n  hostNetwork: {{ .Values.host }}\n"
    ),
}
FILES = {
    "pod.yaml": POD,
    "team.yaml": TEAM,
    "label.yaml": LABEL,
    "tests/kyverno-test.yaml": TEST,
    "linked/pod.yaml": POD,
    **CHART,
}
NESTED = _TEXTS["nested"]
"""A policy that is given up after a second for each object."""
for _spaces in range(8, 56, 4):
    _list = f"{' ' * (_spaces + 2)}- list: split('a,b,c,d', ',')"
    NESTED += f"{' ' * _spaces}foreach:\n{_list}\n"
NESTED += f"{' ' * 56}deny: {{conditions: {{any: [{{key: a, operator: Equals, value: b}}]}}}}\n"
PODS = "---\n".join(POD.replace("web", f"pod-{number}") for number in range(400))
ENDLESS: Mapping[str, Any] = {"objects": [PODS], "policies": [NESTED]}
"""Arguments of `scan` for a call that takes minutes."""


MANY = "---\n".join(POD.replace("web", f"pod-{number}") for number in range(200))
NAMES = [f"pod-{number}" for number in range(8)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("session") / "root"
    write_files(root, FILES)
    secret = root.parent / "secret.yaml"
    secret.write_text(POD.replace("web", "secret"))
    (root / "linked" / "link.yaml").symlink_to(secret)
    for name in (*sys.stdlib_module_names, "yaml", "chartkit", "jsonschema"):
        (root / f"{name}.py").write_text("raise SystemExit('imported from a root')\n")
    return root


EXAMPLES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "scan": ("scan", {"objects": ["pod.yaml"], "policies": ["team.yaml"]}),
    "scan, detailed": ("scan", {"objects": ["pod.yaml"], "detailed": True}),
    "scan of a chart": ("scan", {"objects": ["chart"], "policies": ["pss-baseline"]}),
    "scan of texts": ("scan", {"objects": [POD], "policies": [TEAM]}),
    "a part": ("scan", {"objects": ["pod.yaml"], "query": "results[?result=='fail'].policy"}),
    "why": ("why", {"object": "pod.yaml", "policies": ["team.yaml"], "policy": "require-team"}),
    "fix": ("fix", {"objects": ["pod.yaml"]}),
    "witness": ("witness", {"kind": ["Pod"], "policies": ["team.yaml"]}),
    "lint": ("lint", {"policies": [TEAM.replace("pattern:", "patern:")]}),
    "preview": ("preview", {"objects": ["pod.yaml"], "policies": ["label.yaml"]}),
    "test": ("test", {"tests": ["tests"]}),
    "migrate": ("migrate", {"policies": ["team.yaml"], "prove": False}),
    "search": ("search", {"words": ["probes"]}),
    "search for nothing": ("search", {"words": ["no-policy-has-this"]}),
    "show": ("show", {"name": "require-pod-probes"}),
    "explain": ("explain", {"subject": "CK001"}),
    "no file": ("scan", {"objects": ["none.yaml"]}),
    "outside": ("scan", {"objects": ["../../other"]}),
    "a wrong choice": ("scan", {"objects": ["pod.yaml"], "policy_type": "Policy"}),
    "a wrong name": ("scan", {"object": ["pod.yaml"]}),
    "a wrong query": ("scan", {"objects": ["pod.yaml"], "query": "results["}),
    "a link": ("scan", {"objects": ["linked/link.yaml"]}),
    "a folder with a link": ("scan", {"objects": ["linked"]}),
    "many objects": ("scan", {"objects": [MANY]}),
}


@pytest.fixture(scope="module")
def replies(root: Path) -> dict[str, Reply]:
    """The answers to the examples, and to further calls, from one session with the protocol alone
    on its standard output; the client checks them by their schemas."""
    before = snapshot(root)
    found: dict[str, Reply] = {}

    async def work(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.version == __version__
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == list(tools())
        for tool in listed.tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.annotations.open_world_hint is False
            assert (tool.output_schema is None) == (tool.name in ("fix", "explain"))
        with pytest.raises(MCPError, match="there is no tool 'nope': there are scan"):
            await client.call_tool("nope", {})
        for name, call in EXAMPLES.items():
            found[name] = await ask(client, *call)
            check(call[0], found[name])
        query = found["many objects"].document["notes"][-1].partition("`")[2].partition("`")[0]
        found["the others"] = await ask(client, "scan", {"objects": [MANY], "query": query})
        texts = {
            name: {"objects": [POD.replace("web", name)], "policies": [TEAM]} for name in NAMES
        }
        at_once = await asyncio.gather(*(ask(client, "scan", call) for call in texts.values()))
        found.update(zip(texts, at_once, strict=True))
        with anyio.move_on_after(1) as scope:
            await ask(client, "scan", ENDLESS)
        assert scope.cancelled_caught
        begin = time.monotonic()
        found["after a cancelled call"] = await ask(client, *EXAMPLES["scan"])
        assert time.monotonic() - begin < 300

    log = root.parent / "err.txt"
    talk(work, root, log=log)
    assert log.read_text() == ""
    assert snapshot(root) == before
    return found


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_scan_names_the_field(replies: dict[str, Reply]) -> None:
    document = replies["scan"].document
    assert json.loads(replies["scan"].text) == document
    assert document["schemaVersion"] == 1
    (result,) = document["results"]
    assert (result["policy"], result["result"]) == ("require-team", "fail")
    assert result["location"] == "pod.yaml:3:1"


def test_a_detailed_scan_is_the_document_of_the_command(
    root: Path, replies: dict[str, Reply]
) -> None:
    command = [COMMAND, "scan", "pod.yaml", "-o", "json", "--detailed"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    document = dict(replies["scan, detailed"].document)
    document.pop("notes", None)
    assert document == json.loads(done.stdout)


def test_a_chart_is_rendered(replies: dict[str, Reply]) -> None:
    reply = replies["scan of a chart"]
    (result,) = reply.document["results"]
    assert result["location"] == "chart/templates/pod.yaml:6:3"
    assert (result["value"], result["valueLocation"]) == ("host", "chart/values.yaml:2:1")


def test_texts_have_the_names_of_parameters_in_places(replies: dict[str, Reply]) -> None:
    (result,) = replies["scan of texts"].document["results"]
    assert result["location"] == "objects-1.yaml:3:1"
    (finding,) = replies["lint"].document["findings"]
    assert finding["location"].startswith("policies-1.yaml:12:")


def test_agents_query_a_part(replies: dict[str, Reply]) -> None:
    assert "restrict-seccomp-strict" in replies["a part"].document["queried"]


def test_a_decision_has_its_places(replies: dict[str, Reply]) -> None:
    (rule,) = replies["why"].document["objects"][0]["rules"]
    assert rule["decision"]["location"].startswith("team.yaml:12:")
    assert rule["decision"]["fieldLocation"].startswith("pod.yaml:")


def test_a_fix_is_a_diff(replies: dict[str, Reply]) -> None:
    text = replies["fix"].text
    assert text.startswith("--- pod.yaml\n+++ pod.yaml\n@@")
    assert "+    runAsNonRoot: true\n" in text
    assert "would fix pod.yaml: 4 violations" in text
    assert replies["fix"].document is None


def test_the_other_tools_answer(replies: dict[str, Reply]) -> None:
    (witness,) = replies["witness"].document["witnesses"]
    assert witness["object"]["metadata"]["labels"]["team"]
    (finding,) = replies["lint"].document["findings"]
    assert finding["severity"] == "error"
    assert "patern" in finding["message"]
    (preview,) = replies["preview"].document["previews"]
    assert preview["made"][0]["after"]["metadata"]["labels"] == {"made": "here"}
    (row,) = replies["test"].document["cases"][0]["rows"]
    assert row["reason"] == "Want pass, got fail"
    (migrated,) = replies["migrate"].document["objects"]
    assert migrated["documents"][0]["kind"] == "ValidatingPolicy"
    names = [policy["name"] for policy in replies["search"].document["policies"]]
    assert "require-pod-probes" in names
    assert replies["search for nothing"].document["policies"] == []
    assert replies["show"].document["parameters"]["probes"]
    assert replies["explain"].text.startswith("CK001: A key that no template reads")


def test_errors_are_one_clear_line(root: Path, replies: dict[str, Reply]) -> None:
    expected = {
        "no file": "none.yaml: no such file or folder",
        "outside": f"../../other: is outside of the roots (the roots are {root})",
        "a wrong choice": "'Policy' is not one of",
        "a wrong name": "scan has no parameter 'object' (did you mean 'objects'?)",
        "a wrong query": "query",
        "a link": "linked/link.yaml: is outside of the roots",
    }
    for name, text in expected.items():
        assert replies[name].is_error, name
        assert replies[name].document is None
        assert text in replies[name].text
        assert len(replies[name].text.splitlines()) == 1
    good = [name for name in replies if name not in expected]
    assert [name for name in good if replies[name].is_error] == []


def test_links_in_folders_do_not_lead_outside(replies: dict[str, Reply]) -> None:
    assert "outside of the roots" in replies["a link"].text
    if sys.platform != "linux":
        pytest.skip("needs Landlock")
    found = replies["a folder with a link"]
    assert "secret" not in json.dumps(found.document["results"])
    assert "v1/Pod/default/web" in found.text
    assert "linked/link.yaml" in found.text
    assert "ermission denied" in found.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_client_names_the_roots(root: Path, tmp_path: Path, mode: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "more.yaml").write_text(POD)
    roots = [root, other]

    async def work(client: Client) -> list[Reply]:
        both = {"objects": ["pod.yaml", "more.yaml"], "policies": [TEAM]}
        found = [await ask(client, "scan", each) for each in (both, {"objects": [str(tmp_path)]})]
        # The root of the file system is none.
        roots[:] = [Path(root.anchor)]
        calls = ([str(root / "pod.yaml")], [POD])
        return found + [await ask(client, "scan", {"objects": each}) for each in calls]

    both, refused, rootless, judged = talk(work, tmp_path, roots=roots, mode=mode)
    places = [result["location"] for result in both.document["results"]]
    assert places == ["pod.yaml:3:1", f"{other}/more.yaml:3:1"]
    assert refused.is_error
    assert "there is no root to read it from" in rootless.text
    assert judged.document["summary"]["fail"] == 4


def test_a_call_that_takes_too_long_ends_and_says_so(root: Path, tmp_path: Path) -> None:
    """Roots of the command line are in place of the client's."""
    told: list[float] = []

    async def progress(done: float, _total: float | None, _message: str | None) -> None:
        told.append(done)

    async def work(client: Client) -> list[Reply]:
        late = await ask(client, "scan", ENDLESS, progress_callback=progress)
        after = late
        for _ in range(5):  # A process starts anew, which is slow where others are busy.
            if after.is_error:
                after = await ask(client, *EXAMPLES["scan of texts"])
        paths = ("pod.yaml", str(root / "pod.yaml"))
        return [late, after] + [await ask(client, "scan", {"objects": [path]}) for path in paths]

    options = ("--seconds", "6", "--root", str(tmp_path))
    late, after, missing, refused = talk(work, tmp_path, *options, roots=[Path(root.anchor)])
    assert late.is_error
    assert late.text.startswith("there is no answer within 6 s")
    assert after.document["summary"]["fail"] == 1
    assert told
    assert told == sorted(told)
    assert "no such file" in missing.text
    assert "outside of the roots" in refused.text


def test_others_go_on_after_a_cancelled_call(replies: dict[str, Reply]) -> None:
    assert replies["after a cancelled call"].document["summary"]["fail"] == 1


def test_calls_at_the_same_time_do_not_mix(replies: dict[str, Reply]) -> None:
    for name in NAMES:
        (result,) = replies[name].document["results"]
        assert result["resource"] == f"v1/Pod/default/{name}"


def test_long_answers_are_cut_with_a_note(replies: dict[str, Reply]) -> None:
    cut, others = replies["many objects"], replies["the others"]
    for reply in (cut, others):
        assert len(reply.text) < 33_000
        assert reply.document["notes"][-1].startswith("left out: ")
    last, first = cut.document["results"][-1], others.document["queried"][0]
    assert cut.document["summary"]["fail"] == 800
    assert last["result"] == first["result"] == "fail"
    rows = [(row["resource"], row["policy"]) for row in (*cut.document["results"], first)]
    assert len(set(rows)) == len(rows)


class _Raw:
    """The server, with its process."""

    def __init__(self, root: Path) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [COMMAND, "mcp"], cwd=root, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        client = {"name": "test", "version": "1"}
        given = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        assert self.ask(1, "initialize", given)["result"]["serverInfo"]["name"] == "chartkit"
        self.tell({"method": "notifications/initialized"})

    def tell(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, params: Mapping[str, Any]) -> Any:
        self.tell({"id": number, "method": method, "params": params})
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == number
        return answer

    def scan(self, number: int) -> Any:
        call = {"name": "scan", "arguments": {"objects": ["pod.yaml"]}}
        return self.ask(number, "tools/call", call)["result"]

    def workers(self) -> list[int]:
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return list(map(int, text.split()))


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_a_process_that_ends_costs_one_call(root: Path) -> None:
    raw = _Raw(root)
    assert raw.scan(2)["structuredContent"]["summary"]["fail"] == 4
    (worker,) = raw.workers()
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: worker not in running(raw))
    assert raw.scan(3)["structuredContent"]["summary"]["fail"] == 4
    out, err = raw.process.communicate(timeout=60)
    assert (raw.process.returncode, out, err) == (0, "", "")


@linux
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_server(root: Path, how: signal.Signals) -> None:
    raw = _Raw(root)
    raw.scan(2)
    workers = raw.workers()
    assert workers
    raw.process.send_signal(how)
    raw.process.communicate(timeout=60)
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def running(raw: _Raw) -> list[int]:
    """Return the workers that have not ended; one that is not reaped yet is a zombie."""
    return [worker for worker in raw.workers() if state_of(worker) not in ("", "Z")]


def state_of(process: int) -> str:
    """Return the state of a process as Linux shows it; empty where it is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def wait_until(holds: Any) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_no_module_of_a_root_is_imported(replies: dict[str, Reply]) -> None:
    names = ("scan of texts", "fix", "migrate", "preview", "lint")
    assert not any(replies[name].is_error for name in names)


LITTLE_MEMORY = """
import sys
from chartkit.helm.sandbox import process
object.__setattr__(process.DEFAULT, "memory", 200 << 20)
from chartkit.addons.mcp.worker import main
main(*sys.argv[1:])
"""


@linux
def test_a_process_without_memory_ends_itself(tmp_path: Path) -> None:
    label = POD.replace("name: web", "name: web\n  labels: {long: " + "x" * 60_000_000 + "}")
    calls = [
        {"tool": "scan", "arguments": {"objects": [text]}, "roots": []} for text in (POD, label)
    ]
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, str(os.getpid()), str(tmp_path)],
        input="".join(f"{json.dumps(call)}\n" for call in calls),
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["document"]["summary"]["fail"] == 4
    assert (done.returncode, done.stderr) == (Exit.MEMORY, "")


def test_without_the_package_the_command_says_so() -> None:
    code = "import sys; sys.modules['mcp'] = None; from chartkit.cli import main; main(['mcp'])"
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"pip install '.[mcp]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
