"""A test file made of what policies say of objects, and expected objects of tests written anew as
policies make them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_source, read_text, resources
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine import Phase, as_submitted
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, Resource, RuleType, Severity, Status, same
from chartkit.output.atomic_folder import write_together
from chartkit.output.yaml_edit import rewritten
from chartkit.report.files import with_line_ends
from chartkit.testing.inputs import ask, load_inputs
from chartkit.testing.matching import GENERATE, MANAGED_BY, find_expected, without_empty
from chartkit.testing.model import CaseResult, TestFile, written_rule
from chartkit.testing.reader import API_VERSION
from chartkit.testing.sources import Sources

_FILES: Final = {
    RuleType.MUTATION: ("patchedResources", "patched.yaml"),
    RuleType.GENERATION: ("generatedResource", "generated.yaml"),
}
"""The field and the file of the objects that results make."""
_HINT: Final = "edit the object by hand: the test shows the difference"


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
        given = [item.kind for path in policies for item in sources.objects(path)]
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
                bodies: list[Body] = []
                if result.type is RuleType.MUTATION and result.status is Status.PASS:
                    bodies.append(answer.patched.body)
                bodies.extend(result.generated)
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


def _unique(bodies: Iterable[Body]) -> list[Body]:
    """Return one object of each kind, namespace and name: the last."""
    last: dict[str, Body] = {}
    for body in bodies:
        metadata = body.get("metadata") or {}
        last[f"{body.get('kind')}/{metadata.get('namespace')}/{metadata.get('name')}"] = body
    return list(last.values())


def _text(name: str, paths: Sequence[list[str]], rows: Mapping[tuple[str, ...], list[str]]) -> str:
    results = []
    for (policy, rule, kind, status, field, written), names in rows.items():
        row: Body = {"policy": policy, "rule": rule, "kind": kind, "result": status}
        row |= {field: written} if field else {}
        results.append({key: value for key, value in row.items() if value} | {"resources": names})
    body = {
        "apiVersion": API_VERSION,
        "kind": "Test",
        "metadata": {"name": name},
        "policies": paths[0],
        "resources": paths[1],
        "results": results,
    }
    return dump_yaml(body)


def update(results: Iterable[CaseResult]) -> list[Path]:
    """Write the expected objects that differ from what policies make into their files, and those
    that are not there; comments and all that is equal stay. Return the files; raise InputError,
    and then none is written."""
    texts: dict[Path, str] = {}
    for case in results:
        for row in case.rows:
            if row.golden is not None:
                path = row.golden.file
                if path.is_dir():
                    hint = "name the file of the object in its place"
                    raise InputError("is a folder, which is not updated", Location(str(path)), hint)
                if path not in texts:
                    texts[path] = read_source(path) if path.exists() else ""
                texts[path] = _with(texts[path], row.golden.body, path)
    for path in filter(Path.exists, texts):
        texts[path] = with_line_ends(path, texts[path])
    write_together(texts)
    return sorted(texts)


def _with(text: str, made: Body, path: Path) -> str:
    """Return a text with an object in place of the one of its kind and name, or at its end."""
    for document in read_text(text, str(path)):
        submitted = [as_submitted(resource) for resource in resources([document])]
        if find_expected(Resource(made), submitted) is None:
            continue
        if document.body.get("kind") != made.get("kind"):
            raise InputError("is in a List, which is not updated", document.location, _HINT)
        wanted = _merged(document.body, _stated(made, document.body))
        part = rewritten(text[document.start : document.end], wanted, path, _HINT)
        return text[: document.start] + part + text[document.end :]
    before = f"{text.rstrip()}\n---\n" if text.strip() else ""
    return before + dump_yaml(without_empty(_stated(made, {})))


def _stated(made: Body, expected: Body) -> Body:
    """Return an object without what Kyverno adds and an expected object does not name."""
    old = expected.get("metadata") or {}
    metadata = dict(made.get("metadata") or {})
    labels = {
        key: value
        for key, value in (metadata.get("labels") or {}).items()
        if key in (old.get("labels") or {})
        or not (key.startswith(GENERATE) or MANAGED_BY.get(key) == value)
    }
    if "labels" in metadata:
        metadata["labels"] = labels
    if metadata.get("namespace") == "default" and "namespace" not in old:
        del metadata["namespace"]
    return {**made, "metadata": metadata}


def _merged(old: Json, new: Json) -> Json:
    """Return the new value, written as the old one where they are compared as equal."""
    if same(without_empty(old), without_empty(new)):
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        kept = {
            key: _merged(value, new[key]) if key in new else value
            for key, value in old.items()
            if key in new or without_empty(value) is None
        }
        added = {key: value for key, value in new.items() if without_empty(value) is not None}
        return {**kept, **{key: value for key, value in added.items() if key not in kept}}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [_merged(*pair) for pair in zip(old, new, strict=True)]
    return new
