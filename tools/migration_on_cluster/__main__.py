"""`python -m tools.migration_on_cluster [CASE…]`: exit code 0 if nothing differs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from chartkit.model import Body
from tests.signing.authority import key_pem, new_key
from tests.signing.cosign import Signer, push
from tests.unit.network.registry.registry_server import Registry, serving
from tools.migration_on_cluster.cases import Case, read_cases
from tools.migration_on_cluster.cluster import Cluster, wait_until
from tools.migration_on_cluster.compare import differences
from tools.migration_on_cluster.rounds import Round, act, ask, generated, install, phased, reports

_ROLES: Final = Path(__file__).parent / "roles.yaml"
_READY: Final = "ready"
"""The key of what a case knows of policies that never become ready."""
_LOST: Final = 15.0
"""Seconds after the switch in which something may get lost."""


def main() -> int:
    """Run the rounds and print what differs."""
    parser = argparse.ArgumentParser(prog="tools.migration_on_cluster", description=__doc__)
    parser.add_argument("case", nargs="*", help="names of cases; all if none is given")
    parser.add_argument("--proof-seconds", default="2", help="of the proof of each policy")
    parser.add_argument("--no-reports", action="store_true", help="do not wait for reports")
    parser.add_argument("--keep", action="store_true", help="leave everything in the cluster")
    options = parser.parse_args()
    with serving() as registry:
        words = _images(registry)
        cases = read_cases(options.case, words, options.proof_seconds)
        rounds = _Rounds(Cluster(), cases, not options.no_reports)
        faults = 0
        try:
            for text in rounds.run():
                _say(f"DIFFERS {text}")
                faults += 1
        finally:
            if not options.keep:
                rounds.clean_up()
    count = sum(len(one.policies) for one in cases)
    _say(f"{len(cases)} cases, {count} policies, {faults} differences")
    return 1 if faults else 0


def _images(registry: Registry) -> Mapping[str, str]:
    """Return the words of cases about images, after a signed and an unsigned one were pushed."""
    key = new_key()
    config: Body = {"architecture": "amd64", "os": "linux"}
    for name in ("signed", "unsigned"):
        digest = registry.add_image(name, "v1", {**config, "author": name})
        if name == "signed":
            push(registry, name, digest, [Signer(key).signature(digest)])
    return {"PUBLIC_KEY": key_pem(key), "REGISTRY": registry.host}


class _Rounds:
    """The rounds over some cases."""

    def __init__(self, cluster: Cluster, cases: Sequence[Case], with_reports: bool) -> None:
        self._cluster = cluster
        self._cases = cases
        self._with_reports = with_reports

    def run(self) -> Iterator[str]:
        """Yield what differs."""
        yield from self._about_conversions()
        self._set_up()
        old = yield from self._alone(
            "round-one", [one for case in self._cases for one in case.policies]
        )
        yield from self._side_by_side(old)
        yield from self._switched(old)

    def clean_up(self) -> None:
        """Delete what the rounds made."""
        for case in self._cases:
            for body in (*case.policies, *case.new):
                self._cluster.delete(body)
        made = [one for case in self._cases for one in (*case.setup, *_stepped([case]))]
        bodies = [*_documents(_ROLES), *_with_namespaces(made, self._cases)]
        names = ("round-one", "round-two")
        gone = [phased(one, name) for one in bodies for name in names if _is_wide(one)]
        for body in gone:
            self._cluster.delete(body)
        wait_until(lambda: not any(self._cluster.get(body) for body in gone), 60)

    def _about_conversions(self) -> Iterator[str]:
        for case in self._cases:
            for text in case.changes:
                _say(f"{case.name} changes: {text}")
            for text in case.left:
                yield f"{case.name}: not converted: {text}"

    def _set_up(self) -> None:
        bodies = [*_documents(_ROLES), *(one for case in self._cases for one in case.setup)]
        for body in _with_namespaces(bodies, self._cases):
            reply = self._cluster.create(body)
            if not reply.is_good and reply.code != 409:
                raise SystemExit(f"{body['kind']} {body['metadata']}: {reply.message}")

    def _alone(
        self, name: str, policies: Sequence[Body], before: Round | None = None
    ) -> Generator[str, None, Round]:
        found = Round(name)
        yield from self._installed(name, policies)
        ask(self._cluster, self._cases, found)
        _say(f"{name}: {len(found.said)} requests")
        act(self._cluster, self._cases, found, before)
        _say(f"{name}: {len(found.seen)} objects after steps")
        if self._with_reports:
            wanted = before.reports if before is not None else None
            legacy = before is None
            found.reports = reports(self._cluster, self._cases, legacy=legacy, wanted=wanted)
            _say(f"{name}: {_results(found)} reported results")
        return found

    def _side_by_side(self, old: Round) -> Iterator[str]:
        found = Round("both")
        both = [one for case in self._cases for one in case.runs_in_both]
        yield from self._installed("both", both)
        ask(self._cluster, self._cases, found)
        if self._with_reports:
            found.reports = reports(
                self._cluster, self._cases, legacy=False, wanted=self._of(old, both)
            )
            _say(f"both: {_results(found)} reported results of the new form")
            old = Round(old.name, old.said, old.seen, self._of(old, both))
        for text in differences(self._cases, old, found):
            yield f"side by side: {text}"

    def _installed(self, name: str, bodies: Sequence[Body]) -> Iterator[str]:
        """Install policies, and yield what is wrong, but what cases know of."""
        known = [case.known[_READY] for case in self._cases if _READY in case.known]
        for text in install(self._cluster, bodies):
            if not any(each in text for each in known):
                yield f"{name}: {text}"

    def _of(self, old: Round, both: Sequence[Body]) -> dict[str, dict[str, dict[str, str]]]:
        """Return the reports of policies that run in both forms."""
        names = {f"{one['kind']}/{one['metadata']['name']}" for one in both}
        known = {
            policy for case in self._cases for new, policy in case.replaced.items() if new in names
        }
        kept = {
            name: {
                place: {policy: said for policy, said in one.items() if policy in known}
                for place, one in each.items()
            }
            for name, each in old.reports.items()
        }
        kept = {name: {at: one for at, one in each.items() if one} for name, each in kept.items()}
        return {name: each for name, each in kept.items() if each}

    def _switched(self, old: Round) -> Iterator[str]:
        legacy = [one for case in self._cases for one in case.policies]
        for body in legacy:
            kept = _keeping(body)
            if kept is not None:
                self._cluster.patch(kept)
        time.sleep(3)
        before = generated(self._cluster)
        for body in legacy:
            reply = self._cluster.delete(body)
            if not reply.is_good:
                yield f"switch: {body['metadata']['name']} is not deleted: {reply.message}"
        new = [one for case in self._cases for one in case.new]
        yield from self._installed("new", new)
        time.sleep(_LOST)
        after = generated(self._cluster)
        _say(f"new: {len(before)} generated objects before the switch, {len(after)} after it")
        for key, (uid, body) in before.items():
            if key not in after:
                yield f"switch: {key} is lost"
            elif after[key] != (uid, body):
                yield f"switch: {key} was replaced: {body} is {after[key][1]}"
        found = yield from self._alone("round-two", (), old)
        for text in differences(self._cases, old, found):
            yield f"after the switch: {text}"


def _is_wide(body: Body) -> bool:
    return "namespace" not in body["metadata"]


def _stepped(cases: Iterable[Case]) -> Iterator[Body]:
    for one in (one for case in cases for one in (*case.requests, *case.steps)):
        yield from (one[verb] for verb in ("create", "patch", "delete") if verb in one)


def _keeping(body: Body) -> Body | None:
    """Return a policy that keeps what it generated when it is deleted; None for others."""
    rules = body["spec"].get("rules") or ()
    if not any(rule.get("generate", {}).get("synchronize") for rule in rules):
        return None
    kept = [
        {**rule, "generate": {**rule["generate"], "orphanDownstreamOnPolicyDelete": True}}
        if "generate" in rule
        else rule
        for rule in rules
    ]
    return {**body, "spec": {"rules": kept}}


def _results(found: Round) -> int:
    return sum(len(one) for each in found.reports.values() for one in each.values())


def _with_namespaces(bodies: Sequence[Body], cases: Sequence[Case]) -> Iterator[Body]:
    """Yield the objects after the namespaces that they are in."""
    named = {one["metadata"]["name"] for one in bodies if one["kind"] == "Namespace"}
    yield from (one for one in bodies if one["kind"] == "Namespace")
    for name in sorted(set(_namespaces(bodies, cases)) - named):
        if "PHASE" not in name:
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield from (one for one in bodies if one["kind"] != "Namespace")


def _namespaces(bodies: Sequence[Body], cases: Sequence[Case]) -> Iterator[str]:
    policies = [one for case in cases for one in case.policies]
    for body in (*bodies, *_stepped(cases), *policies):
        if "namespace" in body["metadata"]:
            yield body["metadata"]["namespace"]


def _documents(file: Path) -> Iterable[Body]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]


def _say(*words: object) -> None:
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
