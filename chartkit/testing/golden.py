"""Expected objects of tests, written anew as policies make them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_source, read_text, resources
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine import as_submitted
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, Resource, same
from chartkit.output.transaction import write_together
from chartkit.output.yaml_edit import rewritten
from chartkit.report.outputs import with_line_ends
from chartkit.testing.matching import GENERATE, MANAGED_BY, find_expected, without_empty
from chartkit.testing.model import CaseResult

_HINT: Final = "edit the object by hand: the test shows the difference"


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
        found = [as_submitted(resource) for resource in resources([document])]
        if find_expected(Resource(made), found) is None:
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
