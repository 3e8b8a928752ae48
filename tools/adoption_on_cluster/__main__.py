"""`python -m tools.adoption_on_cluster --chart CHART`: exit code 0 if the story goes as told."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import yaml

from chartkit.model import Body
from tools.adoption_on_cluster.chartkit import (
    StoryError,
    await_webhooks,
    chartkit,
    run,
    say,
)
from tools.adoption_on_cluster.listing import names
from tools.migration_on_cluster.cluster import Cluster, Reply, content, wait_until

_TEAM: Final = Path(__file__).parent / "team"
_KYVERNO: Final = "kyverno"
_POLICIES: Final = ("ClusterPolicy", "PolicyException")
_QUOTA: Final[Body] = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-pods", "namespace": _KYVERNO},
    "spec": {"hard": {"pods": "0"}},
}
_POLICY_WEBHOOKS: Final = frozenset(("validate-policy.kyverno.svc",))
_RESOURCE_WEBHOOKS: Final = frozenset(("validate.kyverno.svc-fail", "mutate.kyverno.svc-fail"))


def main() -> int:
    """Tell the story, and print what is otherwise than expected."""
    parser = argparse.ArgumentParser(prog="tools.adoption_on_cluster", description=__doc__)
    parser.add_argument("--chart", required=True, help="the chart of Kyverno's own project")
    parser.add_argument("--folder", type=Path, help="for the project; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        story = _Story(Cluster(), folder.absolute(), options.chart)
        faults = []
        try:
            for text in story.told():
                say("WRONG", text)
                faults.append(text)
        except StoryError as error:
            say("STOPPED", error)
            faults.append(str(error))
    say(f"{len(faults)} wrong")
    return 1 if faults else 0


class _Story:
    """folder: what adopt and install write to; chart: with which Kyverno is installed first."""

    def __init__(self, cluster: Cluster, folder: Path, chart: str) -> None:
        self._cluster = cluster
        self._folder = folder
        self._platform = folder / "platform"
        self._chart = str(Path(chart).absolute())
        self._rows: list[Body] = []

    def told(self) -> Iterator[str]:
        """Yield what is otherwise than expected."""
        before = names(self._cluster)
        self._install_by_hand()
        in_use = self._policies()
        yield from self._adopted()
        yield from self._installed(in_use)
        yield from self._promoted()
        yield from self._killed_and_rescued()
        yield from self._removed(before)

    def _install_by_hand(self) -> None:
        values = str(_TEAM / "values.yaml")
        command = ("helm", "install", _KYVERNO, self._chart, "-n", _KYVERNO, "--create-namespace")
        run(self._folder, *command, "-f", values, "--wait")
        await_webhooks(self._cluster, _POLICY_WEBHOOKS)
        for name in ("workloads", "policies", "exceptions"):
            for body in _documents(_TEAM / f"{name}.yaml"):
                self._require(self._cluster.create(body))
        self._await_ready(("require-team", "disallow-latest", "add-cost-centre"))
        await_webhooks(self._cluster, _RESOURCE_WEBHOOKS)

    def _adopted(self) -> Iterator[str]:
        adopt = ("adopt", "--cluster", "--record", "recording", "--folder", "platform")
        found = chartkit(self._folder, *adopt, "-o", "json", code=1).json
        self._rows = found["rows"]
        for row in self._rows:
            say(f"{row['outcome']:8}{row['subject']}: {row['message']}")
        left = [row["subject"] for row in self._rows if row["outcome"] == "left"]
        if any(not each.startswith("engine values ") for each in left):
            yield f"adopt left {', '.join(left)}"
        again = ("adopt", "recording", "--values", str(_TEAM / "values.yaml"), "--dry-run")
        recorded = chartkit(self._folder, *again, "-o", "json", code=1).json
        taken = [
            {row["subject"] for row in each["rows"] if row["outcome"] == "taken"}
            for each in (found, recorded)
        ]
        if taken[0] != taken[1]:
            yield f"the recording gives something else: {taken[0] ^ taken[1]}"

    def _installed(self, in_use: dict[str, Body]) -> Iterator[str]:
        announced = {row["subject"] for row in self._rows if row["outcome"] == "changed"}
        chartkit(self._platform, "render", "-o", "json=render.json")
        for change in self._against_release():
            name = f"{change['kind']} {change['name']}"
            if change["risk"] == "high" and name not in announced:
                yield f"not announced: {name}: {change['reason']}"
        self._install("--take-ownership")
        after = self._policies()
        for name, body in in_use.items():
            if name not in after:
                yield f"{name} is gone"
            elif _without_labels(after[name]) != _without_labels(body) and name not in announced:
                yield f"{name} was {body}, and is {after[name]}"
        for name in after.keys() - in_use.keys():
            yield f"{name} is new"
        yield from self._without_difference()

    def _without_difference(self) -> Iterator[str]:
        for change in self._against_release():
            yield f"diff against the release: {change}"

    def _against_release(self) -> list[Body]:
        diff = ("diff", "prd", "--against", "release", "-o", "json")
        [found] = chartkit(self._platform, *diff).json["comparisons"]
        changes: list[Body] = found["changes"]
        return changes

    def _promoted(self) -> Iterator[str]:
        promote = ("promote", "require-team", "disallow-latest", "--to", "prd", "--cluster")
        held = chartkit(self._platform, *promote, code=1)
        say(held.out)
        for name in ("Deployment shop/search", "Deployment shop/old-cart"):
            if name not in held.out:
                yield f"promote does not name {name}"
        if "Deployment kyverno/" in held.out:
            yield "promote counts objects that Kyverno is never sent"
        self._repair()
        written = chartkit(self._platform, *promote, "--write")
        say(written.out)
        self._install()
        yield from self._refused("shop", "Deployment needs the label team")
        yield from self._refused("payments-eu", "Deployment needs the label team")
        yield from self._without_difference()

    def _repair(self) -> None:
        """Repair what violates the policies, but for what an exception lets off."""
        for name, patch in (
            ("search", {"metadata": {"labels": {"team": "search"}}}),
            (
                "old-cart",
                {
                    "spec": {
                        "template": {
                            "spec": {
                                "containers": [{"name": "cart", "image": "reg.example.com/cart:3"}]
                            }
                        }
                    }
                },
            ),
        ):
            body = {**_deployment("shop", name), **patch}
            body["metadata"] = {**(patch.get("metadata") or {}), "name": name, "namespace": "shop"}
            self._require(self._cluster.patch(body))
        wait_until(lambda: not self._with_image("cart:latest"), 60)

    def _with_image(self, image: str) -> list[str]:
        items = self._cluster.items("/api/v1/namespaces/shop/pods")
        return [
            body["metadata"]["name"]
            for body in items
            for one in body["spec"]["containers"]
            if one["image"].endswith(image)
        ]

    def _killed_and_rescued(self) -> Iterator[str]:
        self._kill()
        yield from self._refused("shop", "failed calling webhook")
        locked = chartkit(self._folder, "rescue", code=1)
        say(locked.out)
        say(chartkit(self._folder, "rescue", "--yes").out)
        if not wait_until(lambda: self._ask("shop", dry=True).is_good, 30):
            yield "the cluster is still locked after rescue"
        chartkit(self._folder, "rescue", "--restore", code=1)
        self._require(self._cluster.delete(_QUOTA))
        self._restart()
        say(chartkit(self._folder, "rescue", "--restore").out)
        yield from self._refused("shop", "Deployment needs the label team")
        unlocked = chartkit(self._folder, "rescue")
        say(unlocked.out)

    def _kill(self) -> None:
        """End Kyverno's Pods, and let none begin."""
        self._require(self._cluster.create(_QUOTA))
        wait_until(lambda: "hard" in ((self._cluster.get(_QUOTA) or {}).get("status") or {}), 30)
        for body in self._pods():
            self._cluster.delete({"apiVersion": "v1", "kind": "Pod", "metadata": body["metadata"]})
        if not wait_until(lambda: not self._pods(), 90):
            raise StoryError("Kyverno's Pods do not end")

    def _pods(self) -> list[Body]:
        return self._cluster.items(f"/api/v1/namespaces/{_KYVERNO}/pods")

    def _restart(self) -> None:
        for body in self._cluster.items(f"/apis/apps/v1/namespaces/{_KYVERNO}/deployments"):
            name = body["metadata"]["name"]
            rollout = ("kubectl", "rollout", "-n", _KYVERNO)
            run(self._folder, *rollout, "restart", f"deployment/{name}")
            run(self._folder, *rollout, "status", f"deployment/{name}", "--timeout=180s")

    def _removed(self, before: frozenset[str]) -> Iterator[str]:
        say(chartkit(self._platform, "uninstall", "prd", "--crds", "--yes").out)
        for name in ("shop", "payments-eu", _KYVERNO):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._require(self._cluster.delete(body))
        left: frozenset[str] = frozenset()

        def is_clean() -> bool:
            nonlocal left
            left = names(self._cluster)
            return left == before

        if not wait_until(is_clean, 90):
            for name in sorted(left - before):
                yield f"left behind: {name}"
            for name in sorted(before - left):
                yield f"lost: {name}"

    def _install(self, *options: str) -> None:
        chartkit(self._platform, "render", "-o", "json=render.json")
        say(chartkit(self._platform, "install", "prd", *options).out)
        say(chartkit(self._platform, "install", "prd", "--yes", *options).out)

    def _policies(self) -> dict[str, Body]:
        """Return the policies and exceptions that are stored, by kind, namespace and name."""
        found = {}
        for path in ("v1/clusterpolicies", "v1/policies", "v2/policyexceptions"):
            for body in self._cluster.items(f"/apis/kyverno.io/{path}"):
                kind = {"clusterpolicies": "ClusterPolicy", "policies": "Policy"}.get(
                    path.partition("/")[2], "PolicyException"
                )
                metadata = body["metadata"]
                where = f"{metadata['namespace']}/" if "namespace" in metadata else ""
                found[f"{kind} {where}{metadata['name']}"] = content(body) or {}
        return found

    def _await_ready(self, policies: Sequence[str]) -> None:
        def ready() -> bool:
            bodies = self._cluster.items("/apis/kyverno.io/v1/clusterpolicies")
            done = {each["metadata"]["name"] for each in bodies if _is_ready(each)}
            return done >= set(policies)

        if not wait_until(ready, 90):
            raise StoryError("the policies are not ready")

    def _ask(self, namespace: str, *, dry: bool) -> Reply:
        return self._cluster.create(_deployment(namespace, "asked"), dry=dry)

    def _refused(self, namespace: str, message: str) -> Iterator[str]:
        """Yield what is wrong if a Deployment without labels is not refused soon."""

        def is_refused() -> bool:
            return message in self._ask(namespace, dry=True).message

        if not wait_until(is_refused, 60):
            reply = self._ask(namespace, dry=True)
            yield f"not refused with '{message}': {reply.code} {reply.message}"

    def _require(self, reply: Reply) -> None:
        if not reply.is_good:
            raise StoryError(reply.message)


def _is_ready(body: Body) -> bool:
    conditions = (body.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _without_labels(body: Body) -> Body:
    """Return what a policy says, with the default that charts write out."""
    spec = {"failurePolicy": "Fail", **body["spec"]} if "rules" in body["spec"] else body["spec"]
    return {**body, "spec": spec, "metadata": {"name": body["metadata"]["name"]}}


def _deployment(namespace: str, name: str) -> Body:
    labels = {"app": name}
    containers = [{"name": "a", "image": "reg.example.com/a:1"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


def _documents(file: Path) -> list[Body]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]


if __name__ == "__main__":
    sys.exit(main())
