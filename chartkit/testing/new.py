"""A test file made of what policies say of objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine import Phase
from chartkit.errors import InputError
from chartkit.model import Body, Location, RuleResult, RuleType, Severity, Status
from chartkit.output.transaction import write_together
from chartkit.testing.answers import Answer, ask
from chartkit.testing.assertions import written_rule
from chartkit.testing.inputs import load_inputs
from chartkit.testing.model import TestFile
from chartkit.testing.reader import API_VERSION
from chartkit.testing.sources import Sources

_FILES: Final = {
    RuleType.MUTATION: ("patchedResources", "patched.yaml"),
    RuleType.GENERATION: ("generatedResource", "generated.yaml"),
}
"""The field and the file of the objects that results make."""


def new_test(file: Path, policies: Sequence[Path], objects: Sequence[Path]) -> list[Path]:
    """Write a test file that expects what policies say of objects today, and files with what they
    make; return the files. Raise InputError, and then nothing is written: for files that are there
    already, policies that do not compile, and if no policy is about an object."""
    location = Location(str(file))
    names = tuple(map(str, policies)), tuple(map(str, objects))
    sources = Sources()
    inputs = load_inputs(TestFile(Path(file.name), "", location, *names), sources)
    for diagnostic in inputs.policies.diagnostics:
        if diagnostic.severity is Severity.ERROR:
            raise InputError(diagnostic.message, diagnostic.location, diagnostic.hint)
    if not (inputs.policies.compiled or inputs.policies.cleaners):
        hint = "name one with -p"
        given = [each.kind for path in policies for each in sources.objects(path)]
        if any(kind.endswith("CleanupPolicy") for kind in given):
            hint += "; Kyverno's tests run a DeletingPolicy, but no CleanupPolicy"
        raise InputError("there is no policy in it", Location(names[0][0]), hint)
    rules = {
        compiled.policy.name: compiled.rules_in(frozenset(Phase))
        for compiled in inputs.policies.compiled
    }
    rows: dict[tuple[str, ...], list[str]] = {}
    made: dict[str, list[Body]] = {}
    for (_, kind, namespace, name), answers in ask(inputs).triggers[""].items():
        for answer in answers:
            for result in answer.results:
                rule = written_rule(result.rule, rules.get(answer.policy, ()))
                field, written = _FILES.get(result.type, ("", ""))
                bodies = list(_made(answer, result))
                file_name = f"{answer.policy}-{written}" if bodies else ""
                row = (
                    *(answer.policy, rule if answer.has_rules else ""),
                    *(kind, str(result.status), field if bodies else "", file_name),
                )
                resource = f"{namespace}/{name}" if namespace else name
                if resource not in rows.setdefault(row, []):
                    rows[row].append(resource)
                if bodies:
                    made.setdefault(file_name, []).extend(bodies)
    if not rows:
        hint = "name objects of kinds that the policies match"
        raise InputError("no policy is about any of the objects", location, hint)
    folder = file.parent
    paths = [
        [Path(os.path.relpath(path, folder)).as_posix() for path in given]
        for given in (policies, objects)
    ]
    texts = {file: _text(folder.resolve().name, paths, rows)}
    for written, bodies in made.items():
        texts[folder / written] = "---\n".join(dump_yaml(body) for body in _unique(bodies))
    for path in texts:
        if path.exists():
            raise InputError("is there already", Location(str(path)), "name another --folder")
    write_together(texts)
    return list(texts)


def _made(answer: Answer, result: RuleResult) -> Iterator[Body]:
    """Yield the objects that a result makes of an object or for it."""
    if result.type is RuleType.MUTATION and result.status is Status.PASS:
        yield answer.patched.body
    yield from result.generated


def _unique(bodies: Iterable[Body]) -> list[Body]:
    """Return one object of each kind, namespace and name: the last."""
    found: dict[str, Body] = {}
    for body in bodies:
        metadata = body.get("metadata") or {}
        found[f"{body.get('kind')}/{metadata.get('namespace')}/{metadata.get('name')}"] = body
    return list(found.values())


def _text(name: str, paths: Sequence[list[str]], rows: Mapping[tuple[str, ...], list[str]]) -> str:
    results = []
    for (policy, rule, kind, status, field, written), resources in rows.items():
        row: Body = {"policy": policy, "rule": rule, "kind": kind, "result": status}
        row |= {field: written} if field else {}
        results.append(
            {key: value for key, value in row.items() if value} | {"resources": resources}
        )
    body = {
        "apiVersion": API_VERSION,
        "kind": "Test",
        "metadata": {"name": name},
        "policies": paths[0],
        "resources": paths[1],
        "results": results,
    }
    return dump_yaml(body)
