"""Assertions about rows: message, action and field, in an annotation of a test file.

Kyverno refuses keys of rows that it does not have, and ignores annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.documents.reader import Document, read_text
from chartkit.engine.request import AUDIT, ENFORCE
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.errors import InputError
from chartkit.model import Json, Location, RuleResult
from chartkit.report.findings import field_text
from chartkit.suggestions import suggestion

ANNOTATION: Final = "chartkit.dev/assert"
_PATH: Final = ("metadata", "annotations", ANNOTATION)
_SELECTING: Final = ("policy", "rule", "resource")
_ASSERTED: Final = ("message", "action", "field")
_ACTIONS: Final = (AUDIT, ENFORCE)
AUTOGEN: Final = ("", "autogen-", "autogen-cronjob-")
"""The beginnings of the names of a rule and of its forms for pod controllers."""


def written_rule(rule: str, own: Collection[str]) -> str:
    """Return a rule's name as its policy has it, in place of its forms for pod controllers;
    empty in a policy whose rules have no names."""
    # The longest prefix first.
    names = (rule.removeprefix(prefix) for prefix in ("", *reversed(AUTOGEN)))
    return next((name for name in names if name in own), "" if "" in own else rule)


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion about the rows of a policy, and of a rule and an object where it names them.

    message: a part of the message, or with wildcards a pattern of the whole; field: as reports
    show it, `spec.containers[0].image`, wildcards are allowed. What is empty is not asserted.
    """

    policy: str
    rule: str
    resource: str
    message: str
    action: str
    field: str
    location: Location

    def concerns(self, policy: str, rule: str, resource: Sequence[str]) -> bool:
        """Report whether it is about a result; rule: its name, perhaps of a rule for pod
        controllers; resource: apiVersion, kind, namespace and name."""
        parts = self.resource.split("/") if self.resource else []
        names = {f"{prefix}{self.rule}" for prefix in AUTOGEN}
        return (
            compile_wildcard(self.policy)(policy)
            and (not self.rule or any(compile_wildcard(name)(rule) for name in names))
            and list(resource[len(resource) - len(parts) :]) == parts
        )

    def __str__(self) -> str:
        name = "/".join(filter(None, (self.policy, self.rule)))
        return f"{name} and {self.resource}" if self.resource else name

    def fault(self, result: RuleResult, body: Json, action: Callable[[str], str]) -> str:
        """Return what differs from the assertion; empty where nothing does. body: the object;
        action: the action of a rule, by its name."""
        message = self.message if has_wildcard(self.message) else f"*{self.message}*"
        if self.message and not compile_wildcard(message)(result.message):
            return f"Want message '{self.message}'"
        if self.action and (actual := action(result.rule)) != self.action:
            return f"Want action {self.action}, got {actual}"
        fields = [field_text(pointer, body) for pointer in result.fields]
        if self.field and not any(map(compile_wildcard(self.field), fields)):
            return f"Want field {self.field}, got {', '.join(fields) or 'none'}"
        return ""


def read_assertions(document: Document) -> Iterator[Assertion]:
    """Yield the assertions of a test; raise InputError for anything else."""
    metadata = document.body.get("metadata") or {}
    text = (metadata.get("annotations") or {}).get(ANNOTATION)
    if not text:
        return
    try:
        (inner,) = read_text(text)
    except (InputError, ValueError):
        raise InputError(f"{ANNOTATION} must be a list in YAML", document.locate(*_PATH)) from None
    for index, item in enumerate(inner.body if isinstance(inner.body, list) else [inner.body]):
        yield _assertion(item, _location(document, text, inner.locate(index)))


def _location(document: Document, text: str, inner: Location) -> Location:
    """Return the place in the file of a place in the annotation's text."""
    lines = text.splitlines(keepends=True)
    offset = sum(map(len, lines[: inner.line - 1])) + max(inner.column - 1, 0)
    return document.character(offset, *_PATH)


def _assertion(item: Json, location: Location) -> Assertion:
    names = (*_SELECTING, *_ASSERTED)
    if not isinstance(item, dict):
        raise InputError(f"an item of {ANNOTATION} must be a mapping", location)
    for key, value in item.items():
        if key not in names:
            hint = suggestion(str(key), names) or f"known are {', '.join(names)}"
            raise InputError(f"unknown key '{key}' in {ANNOTATION}", location, hint)
        if not isinstance(value, str):
            raise InputError(f"'{key}' in {ANNOTATION} must be a text", location)
    if not item.get("policy"):
        raise InputError(f"an item of {ANNOTATION} names no policy", location)
    if not any(item.get(key) for key in _ASSERTED):
        hint = f"add one of {', '.join(_ASSERTED)}"
        raise InputError(f"an item of {ANNOTATION} asserts nothing", location, hint)
    action = item.get("action") or ""
    if action and action not in _ACTIONS:
        raise InputError(f"there is no action '{action}'", location, f"one of {AUDIT}, {ENFORCE}")
    texts = {key: item.get(key) or "" for key in names}
    return Assertion(**texts, location=location)
