"""Recorded cases of the engine, each converted and compared with its original."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chartkit.engine import World
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.evaluation import evaluate
from chartkit.engine.policies import RunnablePolicy
from chartkit.engine.request.request import Request, User
from chartkit.errors import ChartkitError
from chartkit.migration.assumptions import meets
from chartkit.migration.conversion import Conversion
from chartkit.migration.convert import convert
from chartkit.migration.differences import (
    ASCII_CASE,
    DECIMALS,
    DECODED,
    FAILING_CONDITIONS,
    PARENT_FOLDERS,
    READ_TEXTS,
    TIMES,
)
from chartkit.migration.proof.requests.cluster import world_of
from chartkit.model import Body, Json, Location, Resource, Status

_WIDGET: Body = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default"},
}
_PLACE = Location("recorded.jsonl")
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'")
_NUMBER = re.compile(r"`(-?\d{1,15})`")
_RBAC = "rbac.authorization.k8s.io/v1"
_BINDINGS = (f"{_RBAC}/rolebindings", f"{_RBAC}/clusterrolebindings")
_NAMED = frozenset((ASCII_CASE, DECIMALS, DECODED, PARENT_FOLDERS, READ_TEXTS, TIMES))
"""Changes that explain a difference of an unusual text."""


@dataclass(slots=True)
class Shares:
    """The number of cases of a file by what became of them; different: those that disagree."""

    cases: int = 0
    refused: int = 0
    converted: int = 0
    compared: int = 0
    different: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """The shares as a line."""
        valid = self.cases - self.refused
        agree = self.converted - len({each.split()[0] for each in self.different})
        return f"{valid} cases, {self.converted} converted, {agree} agree ({self.compared} objects)"


def recorded(path: Path) -> Iterator[tuple[dict[str, Any], Body, Sequence[Body]]]:
    """Yield the cases of a file that are one policy: case, policy, objects."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case: dict[str, Any] = json.loads(line)
        if "condition" in case:
            yield case, _of_condition(case), [case.get("resource") or _WIDGET]
            continue
        policies = [case["policy"]] if "policy" in case else case.get("policies") or []
        if len(policies) == 1 and not case.get("exceptions"):
            yield case, policies[0], case.get("resources") or []


def _of_condition(case: dict[str, Any]) -> Body:
    conditions = {case["any_all"]: [case["condition"]]}
    rule: Body = {"name": "r", "match": {"any": [{"resources": {"kinds": ["Widget"]}}]}}
    if case["context"] == "deny":
        rule["validate"] = {"message": "m", "deny": {"conditions": conditions}}
    else:
        rule |= {"preconditions": conditions, "validate": {"message": "m", "deny": {}}}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": case["id"]},
        "spec": {"rules": [rule]},
    }


def recorded_queries(path: Path) -> Iterator[tuple[dict[str, Any], Body, Sequence[Body]]]:
    """Yield queries as conditions: the input is an object's, and so is an argument, one by one."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case: dict[str, Any] = json.loads(line)
        if "{{" in case["query"] or "}}" in case["query"]:
            continue
        for query, metadata in _with_fields(case["query"]):
            body = {**_WIDGET, "spec": case["input"]}
            body["metadata"] = {**_WIDGET["metadata"], **metadata}
            for condition in _conditions(query, case.get("result")):
                given = {"id": case["id"], "any_all": "any", "context": "deny"}
                yield given, _of_condition({**given, "condition": condition}), [body]


def _with_fields(query: str) -> Iterator[tuple[str, Body]]:
    """Yield a query of an object's input, and with each of its literals as a field."""
    yield f"request.object.spec | {query}", {}
    for found in _TEXT.finditer(query):
        if query.count("`", 0, found.start()) % 2 == 0:
            text = found[1].replace("\\'", "'")
            yield _spliced(query, found, "annotations.given"), {"annotations": {"given": text}}
    for found in _NUMBER.finditer(query):
        yield _spliced(query, found, "generation"), {"generation": int(found[1])}


def _spliced(query: str, found: re.Match[str], field: str) -> str:
    start, end = found.span()
    return f"{query[:start]}request.object.metadata.{field}{query[end:]}"


def _conditions(query: str, result: Json) -> Iterator[Body]:
    key = f"{{{{ {query} }}}}"
    is_scalar = isinstance(result, str | int | float)
    if is_scalar:
        yield {"key": key, "operator": "Equals", "value": result}
        yield {"key": key, "operator": "AnyNotIn", "value": [result]}
    if isinstance(result, list):
        yield {"key": key, "operator": "AllIn", "value": result}
    yield {"key": key, "operator": "GreaterThan", "value": "1h" if is_scalar else 2}


def compare(path: Path) -> Shares:
    """Convert and compare the validate rules of a file."""
    return _compared(recorded(path))


def compare_queries(path: Path) -> Shares:
    """Convert and compare the queries of a file."""
    return _compared(recorded_queries(path))


def _compared(cases: Iterable[tuple[dict[str, Any], Body, Sequence[Body]]]) -> Shares:
    shares = Shares()
    for case, body, objects in cases:
        legacy = Resource(body, _PLACE)
        # Kyverno's command line, which was recorded, knows no name of a request.
        if not _validates(body) or "request.name " in str(body):
            continue
        shares.cases += 1
        try:
            original = compile_policy(legacy)
            conversion = convert(legacy)
        except ChartkitError:
            shares.refused += 1
            continue
        if conversion.complete:
            shares.converted += 1
            requests = [_request(case, each) for each in objects]
            _compare_objects(case["id"], original, conversion, requests, shares)
    return shares


def _validates(body: Body) -> bool:
    rules = body.get("spec", {}).get("rules") or []
    return body.get("kind") in ("ClusterPolicy", "Policy") and all(
        isinstance(rule, dict) and rule.get("validate") for rule in rules
    )


def _compare_objects(
    name: str,
    original: RunnablePolicy,
    conversion: Conversion,
    requests: Sequence[Request],
    shares: Shares,
) -> None:
    new = [compile_cel_policy(Resource(each, _PLACE)) for each in conversion.documents]
    assumed = {key: type_ for one in conversion.outcomes for key, type_ in one.assumed.items()}
    changes = {change for one in conversion.outcomes for change in one.changes}
    for request in requests:
        body = request.resource.body
        world = _world(request)
        # Kyverno does not extend policies in CEL to ReplicationControllers.
        if body.get("kind") == "ReplicationController" or not meets(body, assumed):
            continue
        shares.compared += 1
        before, after = _result([original], request, world), _result(new, request, world)
        if (before == "error" and FAILING_CONDITIONS in changes) or changes & _NAMED:
            continue
        if (before in ("fail", "error")) != (after in ("fail", "error")):
            shares.different.append(f"{name} {before} {after}")


def _request(case: dict[str, Any], body: Body) -> Request:
    given = case.get("userinfo") or {}
    info = given.get("userInfo") or {}
    user = User(
        info.get("username") or "",
        groups=tuple(info.get("groups") or ()),
        roles=tuple(given.get("roles") or ()),
        cluster_roles=tuple(given.get("clusterRoles") or ()),
    )
    resource = Resource(body, _PLACE)
    return Request(resource, user=user) if given else Request(resource)


def _world(request: Request) -> World:
    """Return a world whose bindings give the user of a request its roles, and nobody else any."""
    document: Body = {"object": request.resource.body, "cluster": {key: [] for key in _BINDINGS}}
    if request.user is not None:
        document["userInfo"] = {"username": request.user.name}
        document["roles"] = request.user.roles
        document["clusterRoles"] = request.user.cluster_roles
    return world_of(document, World())


def _result(policies: Sequence[RunnablePolicy], request: Request, world: World) -> str:
    states = {one.status for one in evaluate(policies, request, world)}
    return next((str(each) for each in (Status.FAIL, Status.ERROR) if each in states), "ok")


def main(paths: Sequence[str]) -> None:
    """Print the shares of files: `python -m tests.conformance.migration_cases FILE…`."""
    for path in paths:
        shares = compare(Path(path))
        sys.stdout.write(f"{Path(path).stem}: {shares}\n")
        sys.stdout.writelines(f"  {each}\n" for each in shares.different)


if __name__ == "__main__":
    main(sys.argv[1:])
