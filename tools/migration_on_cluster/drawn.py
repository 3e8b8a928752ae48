"""`python -m tools.migration_on_cluster.drawn FOLDER…`: the policies of folders, both forms.

One policy after the other is installed in its old form, which refuses what it judges, then in its
new one; both are asked to create the same objects, those of the proof with which most changes, and
nothing is stored. Printed are the answers that differ; exit code 1 if there are any. Kyverno's
controllers for reports and for the background need to be allowed to read what policies are about.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import requests_of
from chartkit.addons.migrate.proof.forms import Form
from chartkit.documents.reader import read_file
from chartkit.engine.cluster_policy.policy import KINDS
from chartkit.errors import ChartkitError
from chartkit.model import Body, Resource
from tools.migration_on_cluster.cases import Case
from tools.migration_on_cluster.cluster import Cluster, wait_until
from tools.migration_on_cluster.compare import differences
from tools.migration_on_cluster.rounds import Round, install

_ACTIONS: Final = ("validationFailureAction", "validationFailureActionOverrides")
_REFUSED_BY_SERVER: Final = (400, 404, 422)
_DRAWN: Final = 400


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A policy that denies, what it becomes, and the objects to create."""

    legacy: Resource
    conversion: Conversion
    objects: Sequence[Body]


def main() -> int:
    """Ask both forms of each policy, and print what differs."""
    parser = argparse.ArgumentParser(prog="tools.migration_on_cluster.drawn", description=__doc__)
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--policies", type=int, default=40, help="the most policies")
    parser.add_argument("--seed", type=int, default=0, help="of the order of files")
    parser.add_argument("--objects", type=int, default=12, help="objects that each is asked about")
    options = parser.parse_args()
    cluster, asked, faults, count = Cluster(), 0, 0, 0
    for drawn in _drawn(_files(options.folder, options.seed), cluster, options.objects):
        if count == options.policies:
            break
        answers, texts = _compared(cluster, drawn)
        count, asked, faults = count + bool(answers), asked + answers, faults + len(texts)
        _say(f"{drawn.legacy.name}: {answers} answers, {len(texts)} differ")
        for text in texts:
            _say(f"DIFFERS {text}")
    _say(f"{count} policies, {asked} objects, {faults} differences")
    return 1 if faults else 0


def _files(folders: Sequence[Path], seed: int) -> list[Path]:
    files = sorted(file for folder in folders for file in folder.rglob("*.yaml"))
    random.Random(seed).shuffle(files)
    return files


def _drawn(files: Sequence[Path], cluster: Cluster, most: int) -> Iterator[_Drawn]:
    """Yield the policies that convert whole, each name once, with objects of kinds that are
    served."""
    names = set[str]()
    for file in files:
        for legacy in _policies(file):
            if legacy.name in names:
                continue
            names.add(legacy.name)
            try:
                conversion = Batch([legacy]).convert(legacy)
            except ChartkitError as error:
                _say(f"{legacy.name}: {error.message}")
                continue
            if conversion.remaining is None:
                objects = list(_objects(legacy, conversion, cluster, most))
                if objects:
                    yield _Drawn(legacy, conversion, objects)


def _policies(file: Path) -> Iterator[Resource]:
    """Yield the cluster-wide policies of a file, which deny what they judge."""
    try:
        documents = read_file(file)
    except ChartkitError:
        return
    for document in documents:
        body = document.body
        if isinstance(body, dict) and body.get("kind") in KINDS and "spec" in body:
            spec = {key: value for key, value in body["spec"].items() if key not in _ACTIONS}
            rules = [_denying(rule) for rule in spec.get("rules") or ()]
            spec |= {"validationFailureAction": "Enforce", "rules": rules}
            yield Resource({**body, "spec": spec}, document.location)


def _denying(rule: Body) -> Body:
    if "validate" not in rule:
        return rule
    kept = {key: value for key, value in rule["validate"].items() if "failureAction" not in key}
    return {**rule, "validate": kept}


def _objects(
    legacy: Resource, conversion: Conversion, cluster: Cluster, most: int
) -> Iterator[Body]:
    """Yield objects of different outcomes, as the engine has them, in turns."""
    forms = [Resource(body, legacy.location) for body in conversion.documents]
    by_outcome: dict[str, list[Body]] = {}
    legacy_form = Form([legacy])
    for at, case in enumerate(requests_of(legacy, forms, options=proof_options(conversion))):
        if at == _DRAWN:
            break
        document = case.document
        creates = document.get("operation") == "CREATE" and not case.is_background
        if not creates or any(document.get(key) for key in ("roles", "clusterRoles")):
            continue
        body = document["object"]
        try:
            cluster.path(body)
        except KeyError:
            continue
        answer = legacy_form.ask(case).answer
        outcome = (body["kind"], answer.denied, answer.messages, answer.errors, answer.patched)
        by_outcome.setdefault(repr(outcome), []).append(body)
    while by_outcome and most:
        for key, bodies in list(by_outcome.items()):
            if most:
                yield bodies.pop(0)
                most -= 1
            if not bodies:
                del by_outcome[key]


def _compared(cluster: Cluster, drawn: _Drawn) -> tuple[int, list[str]]:
    """Return how many objects Kyverno was asked about in both forms, and what differs."""
    legacy, conversion = drawn.legacy, drawn.conversion
    case = Case(legacy.name, "", [legacy.body], new=conversion.documents)
    for body in drawn.objects:
        if "namespace" in body["metadata"]:
            name = body["metadata"]["namespace"]
            cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    rounds: list[Round] = []
    texts: list[str] = []
    for name, bodies in (("old", case.policies), ("new", case.new)):
        answers = Round(name)
        texts += install(cluster, bodies)
        for index, body in enumerate(drawn.objects):
            reply = cluster.create(body, dry=True)
            if reply.code not in _REFUSED_BY_SERVER or "admission webhook" in reply.message:
                answers.said[f"{case.name}/{index}"] = reply
        for body in bodies:
            cluster.delete(body)
        wait_until(partial(_are_gone, cluster, bodies), 30)
        rounds.append(answers)
    old, new = rounds
    asked = old.said.keys() & new.said.keys()
    return len(asked), [*texts, *differences([case], old, new)]


def _are_gone(cluster: Cluster, bodies: Sequence[Body]) -> bool:
    return not any(map(cluster.get, bodies))


def _say(*words: object) -> None:
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
