"""Compares answers of ClusterPolicies with those of Kyverno's own engine, on mutated cases.

    python -m tools.fuzz_policies --kyverno CHECKOUT [--seconds 600] [--seed 1] [--admission]

CHECKOUT is Kyverno's source (`git clone --branch v1.19.1`); Go builds `tools/kyverno_engine` in it
without a change to it. The recorded cases of `tests/conformance/data` are taken, policies and
objects are changed in a few places, and refusals, statuses, messages and mutated objects compared.
Each difference is printed as a case that can be asked again (`--case FILE`). Kyverno goes through
maps in no order: it is asked several times before a message counts as a difference.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from chartkit.engine import Operation, Request, evaluate
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import read_exception
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.errors import CompileError
from chartkit.model import Body, Json, Resource, RuleType
from tests.conformance.controls import ordered_message
from tests.conformance.engine_policies import resource_of, user_of
from tests.shared import ROOT

_DATA: Final = ROOT / "tests" / "conformance" / "data"
_FILES: Final = ("match", "mutate", "patterns", "podsecurity", "variables")
_SOURCE: Final = ROOT / "tools" / "kyverno_engine" / "main.go"
_TIMES: Final = 8
_VALUES: Final[tuple[Json, ...]] = (
    *(None, True, False, 0, 1, -1, 5, 1.5, 3600, 1_000_000, "", "a", "ab", "5", "5.0", "true"),
    *("*", "?*", "!a", "a | b", "!a & !b", ">5", "<=1Gi", "1-5", "1!-5", "10s", "<1h", "100m"),
    *("1Gi", "1024Mi", "nginx:latest", "{{ request.object.metadata.name }}", "{{ @ }}", "=(a)"),
    *("{{ request.object.spec }}", "{{ request.operation }}", "{{ to_upper('a') }}", [], {}),
    *(["a"], [1, 5], [None], {"a": "b"}, "Equals", "AnyIn", "AllNotIn", "GreaterThan", "LessThan"),
)
_ANCHORS: Final = ("({})", "=({})", "+({})", "^({})", "X({})", "<({})", "{}*", "{}")
_OUTSIDE: Final = (
    '"generate"',
    "policies.kyverno.io/scored",
    '"verifyImages"',
    '"targets"',
    '"apiCall"',
    '"configMap"',
)
"""Words of cases that are left out: what asks the world, and what reports decide."""

Case = dict[str, Any]
Answer = dict[str, Any]


class Kyverno:
    """Kyverno's engine as a program that answers lines."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        program = folder / "engine"
        overlay = folder / "overlay.json"
        place = checkout.resolve() / "cmd" / "chartkit-engine" / "main.go"
        overlay.write_text(json.dumps({"Replace": {str(place): str(_SOURCE)}}))
        build = ["go", "build", "-buildvcs=false", "-overlay", str(overlay), "-o", str(program)]
        subprocess.run([*build, "./cmd/chartkit-engine"], cwd=checkout, check=True)
        self._running = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, case: Case) -> Answer:
        """Return the answer to a case."""
        given, told = self._running.stdin, self._running.stdout
        assert given is not None
        assert told is not None
        given.write(json.dumps(case).encode() + b"\n")
        given.flush()
        answer: Answer = json.loads(told.readline() or b'{"panic": "the engine ended"}')
        return answer

    def close(self) -> None:
        """End the program."""
        self._running.kill()
        self._running.communicate()


def own_answer(case: Case) -> Answer:
    """Return chartkit's answer to a case."""
    refused: dict[str, str] = {}
    policies = []
    exceptions = [read_exception(resource_of(one)) for one in case["exceptions"]]
    for body in case["policies"]:
        try:
            policies.append(compile_policy(resource_of(body), exceptions))
        except CompileError as error:
            refused[body["metadata"]["name"]] = error.message
    resource = resource_of(case["resource"])
    old = resource_of(case["old"]) if case["operation"] == "UPDATE" else None
    user = user_of(case["user"])
    review = _review(case, resource) if case["admission"] else None
    labels = case["namespaceLabels"]
    request = Request(resource, old, Operation(case["operation"]), user, labels, review=review)
    rows, patched = [], resource.body
    for each in evaluate(policies, request):
        name = each.policy.rpartition("/")[2]
        rows.append([name, each.rule, each.status.value, each.message])
        if each.type is RuleType.MUTATION and each.patched is not None:
            patched = each.patched
    return {"refused": refused, "rows": rows, "patched": patched}


def _review(case: Case, resource: Resource) -> Body:
    kind = kind_of(resource)
    group = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    named = {"name": resource.name, "namespace": resource.namespace}
    said = {"uid": "", "kind": group, "operation": case["operation"], "options": None}
    none = {"group": "", "version": "", "resource": ""}
    return {**said, "resource": none, "userInfo": {}, **{k: v for k, v in named.items() if v}}


def difference(theirs: Answer, own: Answer) -> str:
    """Return what differs between two answers; empty for nothing."""
    if theirs.get("panic") or theirs.get("error"):
        return ""
    if theirs["refused"].keys() != own["refused"].keys():
        return f"refused: {theirs['refused']} and {own['refused']}"
    rows, found = ([_comparable(row) for row in side["rows"]] for side in (theirs, own))
    if rows != found:
        return f"rows: {rows} and {found}"
    broken = any(row[2] == "error" for row in rows)
    if not broken and not _is_same(theirs["patched"], own["patched"]):
        return f"object: {theirs['patched']} and {own['patched']}"
    return ""


def _is_same(left: Json, right: Json) -> bool:
    """Return whether two values are equal as Go's float64 has them, and true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return float(left) == float(right)
    return bool(left == right)


def _comparable(row: list[str]) -> list[str]:
    return [*row[:3], ordered_message(row[3])]


def cases(pick: random.Random, admission: bool) -> Iterator[Case]:
    """Yield mutated cases without end."""
    seeds = [
        json.loads(line)
        for name in _FILES
        for line in (_DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
        if not any(word in line for word in _OUTSIDE)
    ]
    while True:
        seed = pick.choice(seeds)
        policies = copy.deepcopy(seed.get("policies") or [seed.get("policy")])
        if not all(policies) or not seed.get("resources"):
            continue
        for policy in policies:
            _change(policy["spec"]["rules"], pick)
        resource = copy.deepcopy(pick.choice(seed["resources"]))
        old = copy.deepcopy(resource)
        _change(resource.get("spec"), pick)
        operation = pick.choice(("CREATE", "CREATE", "CREATE", "UPDATE", "DELETE"))
        if '"mutate"' in json.dumps(policies) and (admission or operation != "CREATE"):
            # An API server asks for mutation and validation apart, and not about what is gone.
            continue
        yield {
            "policies": policies,
            "exceptions": seed.get("exceptions") or [],
            "resource": resource,
            "old": old if operation == "UPDATE" else None,
            "operation": operation,
            "user": {"userInfo": {"username": pick.choice(("bob", "alice"))}},
            "namespaceLabels": {"app": "web"},
            "admission": admission,
        }


def _change(value: Json, pick: random.Random) -> None:
    """Change a few places of a value; the names of rules and what they match stay."""
    for _ in range(pick.choice((0, 1, 1, 2, 3))):
        places = [place for place in _places(value) if place[1] not in ("name", "match", "kinds")]
        if not places:
            return
        holder, key = pick.choice(places)
        choice = pick.random()
        if choice < 0.15:
            del holder[key]
        elif choice < 0.35 and isinstance(holder, dict):
            plain = key.strip("()+=^X<") or key
            holder[pick.choice(_ANCHORS).format(plain)] = holder.pop(key)
        elif choice < 0.45 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif not isinstance(holder[key], dict | list) or choice > 0.85:
            holder[key] = copy.deepcopy(pick.choice(_VALUES))


def _places(value: Json) -> Iterator[tuple[Any, Any]]:
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    for key in keys:
        yield value, key
        if key != "match":
            yield from _places(value[key])


def compare(kyverno: Kyverno, case: Case) -> str:
    """Return how answers to a case differ, in every order that Kyverno has; empty for not."""
    own, said = own_answer(case), ""
    for _ in range(_TIMES):
        said = difference(kyverno.ask(case), own)
        if not said:
            break
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kyverno", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--admission", action="store_true")
    parser.add_argument("--case", type=Path)
    options = parser.parse_args()
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        kyverno = Kyverno(options.kyverno, Path(folder))
        given = [json.loads(options.case.read_text("utf-8"))] if options.case else None
        end = time.monotonic() + options.seconds
        for case in given or cases(random.Random(options.seed), options.admission):
            if time.monotonic() > end:
                break
            said = compare(kyverno, case)
            count["different" if said else "equal"] += 1
            if said:
                sys.stdout.write(f"{said[:2_000]}\n{json.dumps(case)}\n\n")
        kyverno.close()
    sys.stdout.write(f"{dict(count)}\n")


if __name__ == "__main__":
    main()
