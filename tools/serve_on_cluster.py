"""`python -m tools.serve_on_cluster`: a real API server asks `chartkit serve` about objects.

It takes the cluster of the current kubeconfig, whose API server must reach this machine, and needs
no Kyverno there. It starts the server with webhooks, creates Pods as dry runs, and compares what
the API server says with what Kyverno's webhooks would have it say.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chartkit.documents.yaml_dump import dump_documents
from chartkit.network.cluster.client import Cluster, connect

_NAMESPACE: Final = "serve-on-cluster"
_PODS: Final = f"/api/v1/namespaces/{_NAMESPACE}/pods"
_LONGEST: Final = 60.0
_DENIAL: Final = (
    'admission webhook "validate.kyverno.svc-fail" denied the request: \n\n'
    f"resource Pod/{_NAMESPACE}/bad was blocked due to the following policies \n\n"
    "require-team:\n  check-team: 'validation error: a team is needed. rule check-team failed at "
    "path /metadata/labels/team/'\n"
)


def _policy(name: str, rule: dict[str, Any]) -> dict[str, Any]:
    match = {"any": [{"resources": {"kinds": ["Pod"], "namespaces": [_NAMESPACE]}}]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name},
        "spec": {"rules": [{"match": match, **rule}]},
    }


def _policies(action: str) -> str:
    validate = {
        "failureAction": action,
        "message": "a team is needed",
        "pattern": {"metadata": {"labels": {"team": "?*"}}},
    }
    patch = {"metadata": {"labels": {"+(managed)": "yes"}}}
    return dump_documents(
        [
            _policy("require-team", {"name": "check-team", "validate": validate}),
            _policy("add-label", {"name": "add", "mutate": {"patchStrategicMerge": patch}}),
        ]
    )


def _pod(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": _NAMESPACE, "labels": labels}
    spec = {"containers": [{"name": "main", "image": "nginx:1.27"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@dataclass
class Server:
    """`chartkit serve` as a child; lines: its log."""

    process: subprocess.Popen[bytes]
    lines: list[dict[str, Any]] = field(default_factory=list)

    def read(self) -> None:
        """Keep the lines of the log as they come."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                self.lines.append({"message": line.decode("utf-8", "replace")})

    def said(self, message: str) -> bool:
        """Return whether the log has a message."""
        return any(each["message"] == message for each in self.lines)


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    """Run the server with webhooks in the cluster; end it."""
    command = [sys.executable, "-m", "chartkit", "serve", "--apply-webhooks", "--port", "19443"]
    process = subprocess.Popen(
        [*command, "--tls-folder", str(folder), *arguments], stderr=subprocess.PIPE
    )
    server = Server(process)
    reader = threading.Thread(target=server.read, daemon=True)
    reader.start()
    try:
        yield server
    finally:
        process.terminate()
        process.wait(60)
        reader.join(5)


class Checks:
    """Comparisons, printed one a line; failed: how many differ."""

    def __init__(self) -> None:
        self.failed = 0

    def equal(self, name: str, found: object, expected: object) -> None:
        """Compare two values."""
        if found == expected:
            say(f"ok      {name}")
            return
        self.failed += 1
        say(f"DIFFERS {name}\n  found    {found!r}\n  expected {expected!r}")

    def comes_true(self, name: str, reached: Callable[[], bool]) -> None:
        """Wait for something."""
        end = time.monotonic() + _LONGEST
        while not (found := reached()) and time.monotonic() < end:
            time.sleep(0.1)
        self.equal(name, found, expected=True)


def check(cluster: Cluster, folder: Path) -> int:
    """Return the number of differences."""
    checks = Checks()
    policies = folder / "policies"
    policies.mkdir()
    file = policies / "policies.yaml"
    file.write_text(_policies("Enforce"), "utf-8")
    reports = folder / "reports"
    options = ("-p", str(policies), "--reports", str(reports))

    def refusal(body: dict[str, Any]) -> str:
        return cluster.refusal_of(_PODS, body)

    with serving(folder, *options) as server:
        checks.comes_true("the webhooks are there", lambda: server.said("webhooks applied"))
        checks.comes_true("a bad Pod is refused", lambda: refusal(_pod("bad")) != "")
        checks.equal("in Kyverno's words", refusal(_pod("bad")), _DENIAL)
        checks.equal("a good Pod is not", refusal(_pod("good", team="a")), "")
        cluster.apply(f"{_PODS}/kept", _pod("kept", team="a"), "serve-on-cluster")
        stored = cluster.get(f"{_PODS}/kept") or {}
        labels = stored.get("metadata", {}).get("labels")
        checks.equal("it is mutated", labels, {"team": "a", "managed": "yes"})
        uid = stored.get("metadata", {}).get("uid")
        report = reports / _NAMESPACE / f"{uid}.yaml"
        checks.comes_true("it has a report under its UID", report.is_file)
        file.write_text(_policies("Audit"), "utf-8")
        checks.comes_true("a changed policy lets it through", lambda: refusal(_pod("bad")) == "")
    checks.equal("the webhooks are deleted", server.said("webhooks deleted"), expected=True)
    checks.equal("nothing is refused any more", refusal(_pod("bad")), "")
    return checks.failed


def main() -> None:
    """Check the cluster of the current kubeconfig."""
    cluster = connect(None)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}}
    cluster.apply(f"/api/v1/namespaces/{_NAMESPACE}", namespace, "serve-on-cluster")
    account = f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts/default"
    while cluster.get(account) is None:
        time.sleep(0.2)
    with tempfile.TemporaryDirectory() as folder:
        failed = check(cluster, Path(folder))
    cluster.remove(f"/api/v1/namespaces/{_NAMESPACE}")
    sys.exit(1 if failed else 0)


def say(line: str) -> None:
    """Print at once, so that a long run shows where it is."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
