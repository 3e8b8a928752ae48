"""Recorded cases of the engine, each converted and compared with its original."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.differences import (
    ASCII_CASE,
    DECIMALS,
    DECODED,
    FAILING_CONDITIONS,
    IMAGE_PARTS,
    NO_TARGET,
    PARENT_FOLDERS,
    READ_TEXTS,
    TIMES,
    meets,
)
from chartkit.addons.migrate.proof.requests.cluster import world_of
from chartkit.engine import World
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cli_files.world import UserApi
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import RunnablePolicy, evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.request import Request, User
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, Location, Resource, Status
from tests.objects import api_object

_WIDGET: Body = api_object("example.com/v1", "Widget", "default/a")
_PLACE = Location("recorded.jsonl")
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'")
_NUMBER = re.compile(r"`(-?\d{1,15})`")
_RBAC = "rbac.authorization.k8s.io/v1"
_BINDINGS = (f"{_RBAC}/rolebindings", f"{_RBAC}/clusterrolebindings")
_MANAGED = ("generate.kyverno.io/", "app.kubernetes.io/managed-by")
_NAMED = frozenset((ASCII_CASE, DECIMALS, DECODED, PARENT_FOLDERS, READ_TEXTS, TIMES))
"""Changes that explain a difference of an unusual text."""
_NO_ERRORS = frozenset((FAILING_CONDITIONS, IMAGE_PARTS, NO_TARGET))
"""Changes that explain that there is no error."""


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a form makes of an object; refuses: an error refuses, too; made: what it changes or
    generates."""

    is_error: bool = field(compare=False)
    refuses: bool
    made: Json = None


Policies = Sequence[RunnablePolicy]
Says = Callable[[Policies, Request, World], Outcome]


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
    return api_object(
        "kyverno.io/v1", "ClusterPolicy", {"name": case["id"]}, spec={"rules": [rule]}
    )


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
    return _compared(recorded(path), "validate", _validated)


def compare_queries(path: Path) -> Shares:
    """Convert and compare the queries of a file."""
    return _compared(recorded_queries(path), "validate", _validated)


def compare_mutations(path: Path) -> Shares:
    """Convert and compare the mutate rules of a file."""
    return _compared(recorded(path), "mutate", _mutated)


def compare_generations(path: Path) -> Shares:
    """Convert and compare the generate rules of a file."""
    return _compared(recorded(path), "generate", _generated)


def _compared(
    cases: Iterable[tuple[dict[str, Any], Body, Sequence[Body]]], type_: str, says: Says
) -> Shares:
    shares = Shares()
    for case, body, objects in cases:
        legacy = Resource(body, _PLACE)
        # Kyverno's command line, which was recorded, knows no name of a request.
        if not _is_of(type_, body) or "request.name " in str(body):
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
            _compare_objects(case, original, conversion, requests, says, shares)
    return shares


def _is_of(type_: str, body: Body) -> bool:
    rules = body.get("spec", {}).get("rules") or []
    return body.get("kind") in ("ClusterPolicy", "Policy") and all(
        isinstance(rule, dict) and rule.get(type_) for rule in rules
    )


def _compare_objects(
    case: Mapping[str, Any],
    original: RunnablePolicy,
    conversion: Conversion,
    requests: Sequence[Request],
    says: Says,
    shares: Shares,
) -> None:
    new = [compile_cel_policy(Resource(each, _PLACE)) for each in conversion.documents]
    assumed = {key: type_ for one in conversion.outcomes for key, type_ in one.assumed.items()}
    changes = {change for one in conversion.outcomes for change in (*one.changes, *one.remarks)}
    for request in requests:
        body = request.resource.body
        world = _with_objects(_world(request), case)
        # Kyverno does not extend policies in CEL to ReplicationControllers.
        if body.get("kind") == "ReplicationController" or not meets(body, assumed):
            continue
        shares.compared += 1
        before, after = says([original], request, world), says(new, request, world)
        if (before.is_error and changes & _NO_ERRORS) or changes & _NAMED:
            continue
        if before != after:
            name = f"{case['id']} {request.resource.name}"
            shares.different.append(f"{name}: {before} is now {after}")


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


def _with_objects(world: World, case: Mapping[str, Any]) -> World:
    """Return a world with the objects of a case that generates, which its clones are of."""
    if "generated" not in case:
        return world
    return replace(world, api=UserApi(Cluster([*case["resources"], *(case.get("targets") or ())])))


def _validated(policies: Policies, request: Request, world: World) -> Outcome:
    states = {one.status for one in evaluate(policies, request, world)}
    return Outcome(Status.ERROR in states, bool(states & {Status.FAIL, Status.ERROR}))


def _mutated(policies: Policies, request: Request, world: World) -> Outcome:
    results = evaluate(policies, request, world)
    is_error = any(one.status is Status.ERROR for one in results)
    patched = [one.patched for one in results if one.patched and one.status is Status.PASS]
    return Outcome(is_error, is_error, patched[-1] if patched else request.resource.body)


def _generated(policies: Policies, request: Request, world: World) -> Outcome:
    results = evaluate(policies, request, world)
    is_error = any(one.unmade or one.status is Status.ERROR for one in results)
    made = [
        _unlabelled(body)
        for one in results
        if one.status is Status.PASS
        for body in (*one.generated, *one.updated)
    ]
    return Outcome(is_error, is_error, sorted(made, key=lambda one: json.dumps(one)))


def _unlabelled(body: Body) -> Body:
    """Return a generated object without the labels by which Kyverno finds it again."""
    labels = body["metadata"].get("labels") or {}
    kept = {key: text for key, text in labels.items() if not key.startswith(_MANAGED)}
    metadata = {key: each for key, each in body["metadata"].items() if key != "labels"}
    return {**body, "metadata": {**metadata, **({"labels": kept} if kept else {})}}


_COMPARED: Final[Mapping[str, Callable[[Path], Shares]]] = {
    "mutate": compare_mutations,
    "generate": compare_generations,
    "jmespath": compare_queries,
}
"""By name of a file, how its cases are compared; the others have rules that validate."""


def main(paths: Sequence[str]) -> None:
    """Print the shares of files: `python -m tests.conformance.migration_cases FILE…`."""
    for path in map(Path, paths):
        shares = _COMPARED.get(path.stem, compare)(path)
        sys.stdout.write(f"{path.stem}: {shares}\n")
        sys.stdout.writelines(f"  {each}\n" for each in shares.different)


if __name__ == "__main__":
    main(sys.argv[1:])
