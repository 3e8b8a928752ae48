"""`python -m bench.serve`: load on `chartkit serve`, or on any other webhook.

17 policies in Enforce (the Pod Security Standards), Pods of the standard's fixtures that are all
different, clients over TLS. Each number of clients is measured twice: as fast as answers come, and
at a fixed rate for all of them together, which shows the latency of a server that is not saturated.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from bench.load import Exchange, Measured, Target, put_load
from bench.measure import BIN, ROOT
from bench.pods import distinct_pods
from chartkit.addons.serve.admission.judge import Judge
from chartkit.addons.serve.admission.review import parse_review
from chartkit.addons.serve.admission.selection import Served
from chartkit.documents.yaml_dump import dump_documents
from chartkit.scan.policies import load_policies

FIXTURES: Final = ROOT.parent / "shared" / "conformance" / "psa" / "v1.35"
_OTHERS: Final = frozenset(("disallow-host-probes", "disallow-proc-mount-strict"))
"""The policies of the profile that are not among upstream's 17."""
_NAMESPACE: Final = "default"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--rate", type=float, default=610.0, help="requests a second, together")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", help="HOST:PORT/PATH of another webhook, in place of serve's")
    parser.add_argument("--process", type=int, help="the process of --target, for its time")
    parser.add_argument("--write-policies", type=Path, help="write the policies there, and end")
    given = parser.parse_args(arguments)
    if given.write_policies is not None:
        write_policies(given.write_policies)
        return
    with tempfile.TemporaryDirectory() as folder:
        policies = Path(folder) / "policies.yaml"
        write_policies(policies)
        given_reviews = exchanges(policies, reviews())
        if given.target:
            address, _, path = given.target.partition("/")
            host, _, port = address.rpartition(":")
            measure(Target(host, int(port), f"/{path}"), given_reviews, given, given.process)
            return
        with served(policies, given.workers) as (own, process):
            target = Target("127.0.0.1", own, "/validate?timeout=10s")
            measure(target, given_reviews, given, process.pid)
            say(f"memory of all processes at the end: {memory(process.pid):.0f} MB")


def measure(
    target: Target, sent: Sequence[Exchange], given: argparse.Namespace, process: int | None
) -> None:
    """Print a line for each number of clients, at full speed and at the rate; process: the
    webhook's, whose time on the processors is shown next to that of this one."""
    for _ in range(given.runs):
        for clients in given.clients:
            for rate in (0.0, given.rate):
                begun = processor(process) if process else 0.0
                pause = clients / rate if rate else 0.0
                found = put_load(target, sent, clients, given.seconds, pause)
                took = processor(process) - begun if process else 0.0
                pace = f"{rate:.0f} a second" if rate else "full speed"
                say(_line(f"{clients} clients, {pace}", found, took))


def _line(name: str, found: Measured, took: float) -> str:
    latencies = ", ".join(f"p{share} {found.percentile(share):.1f} ms" for share in (50, 99))
    said = f"{found.rate:.0f} requests/s, {latencies}, {found.refused} denied, {found.wrong} wrong"
    count = len(found.latencies)
    if count and took:
        said += f", {took / count * 1e6:.0f} µs of processors each"
    if count:
        said += f", {found.processor / count * 1e6:.0f} µs of the load's"
    return f"{name:<28} {said}, status {dict(found.statuses)}, failures {dict(found.failures)}"


def write_policies(target: Path) -> None:
    """Write the 17 policies of the Pod Security Standards, in Enforce."""
    bodies = []
    for each in load_policies(["pss-restricted"], {}).policies:
        if each.policy.name not in _OTHERS:
            bodies.append(enforced(each.policy.resource.body))
    target.write_text(dump_documents(bodies), "utf-8")


def enforced(body: dict[str, Any]) -> dict[str, Any]:
    """Return a ClusterPolicy that refuses what violates it."""
    spec = {**body["spec"], "validationFailureAction": "Enforce"}
    spec["rules"] = [
        {**rule, "validate": {**rule["validate"], "failureAction": "Enforce"}}
        for rule in spec["rules"]
    ]
    return {**body, "spec": spec}


def reviews(count: int = 2000) -> list[bytes]:
    """Return AdmissionReviews of Pods, no two alike, as an API server sends them."""
    found = []
    for number, pod in enumerate(distinct_pods(FIXTURES, count)):
        pod["metadata"]["namespace"] = _NAMESPACE
        kind = {"group": "", "version": "v1", "kind": "Pod"}
        resource = {"group": "", "version": "v1", "resource": "pods"}
        request = {
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": pod["metadata"]["name"],
            "namespace": _NAMESPACE,
            "operation": "CREATE",
            "userInfo": {"username": "system:admin", "groups": ["system:authenticated"]},
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        found.append(json.dumps({**review, "request": request}).encode("utf-8"))
    return found


def expected_of(policies: Path, bodies: Sequence[bytes]) -> list[Any]:
    """Return the response to each review, by the engine in this process."""
    judge = Judge(Served(load_policies([str(policies)], {}).policies))
    found = judge.find("/validate")
    assert found is not None
    answers = []
    for body in bodies:
        answer = judge.judge(parse_review(body), *found).answer
        response = json.loads(answer.encoded("x"))["response"]
        answers.append({key: value for key, value in response.items() if key != "uid"})
    return answers


def exchanges(policies: Path, bodies: Sequence[bytes]) -> list[Exchange]:
    """Return reviews with the verdicts that the engine gives in this process."""
    return [
        Exchange(body, json.loads(body)["request"]["uid"], expected["allowed"])
        for body, expected in zip(bodies, expected_of(policies, bodies), strict=True)
    ]


@contextmanager
def served(
    policies: Path, workers: int, level: str = "warning"
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run `chartkit serve`, and give its port and process."""
    port = free_port()
    command = [BIN / "chartkit", "serve", "-p", policies, "--port", port, "--workers", workers]
    process = subprocess.Popen([*map(str, command), "--log-level", level])
    try:
        _await(port)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(40)


def free_port() -> int:
    """Return a port that nothing listens at."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(port: int) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for _ in range(600):
        try:
            with (
                socket.create_connection(("127.0.0.1", port), 1) as plain,
                context.wrap_socket(plain) as secure,
            ):
                secure.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
                if b"200" in secure.recv(100):
                    return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit("chartkit serve does not get ready")


def processor(process: int) -> float:
    """Return the seconds of processors that a process and its children took."""
    found = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    own = (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(processor, children(process)))


def children(process: int) -> list[int]:
    """Return the children of a process."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text("utf-8")
    return list(map(int, text.split()))


def memory(process: int) -> float:
    """Return the resident megabytes of a process and its children."""
    text = Path(f"/proc/{process}/statm").read_text("utf-8")
    own = int(text.split()[1]) * 4096 / 1e6
    return own + sum(map(memory, children(process)))


def say(line: object) -> None:
    """Print at once, so that a long run shows where it is."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
