"""Evaluations of CEL expressions as decisions: each part with its value, its location in the policy
and the object's field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chartkit.engine.cel.ast import Ident, nodes
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.explain import Part, Places, parts_of
from chartkit.engine.cel.interpreter.program import Evaluation
from chartkit.engine.cel.notation import notation
from chartkit.engine.cel.values import OptionalValue, Struct, Value
from chartkit.engine.cel_policies.exceptions import CelException
from chartkit.engine.cel_policies.expressions import sees_the_request_alone
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.why import MISSING, Asked, Decision, is_shown_of_secret
from chartkit.model import (
    Body,
    FieldPath,
    Json,
    Location,
    path_text,
    pointed_at,
    pointer_of,
    single_line,
    texts_below,
)
from chartkit.safe_text import shown
from chartkit.wording import shortened

_RESULTS: Final = ("attestors", "auditAnnotations", "expressions", "generate", "mutations")
_CONDITIONS: Final = ("conditions", "matchConditions", "targetMatchConditions")
_ASKED: Final = {
    **dict.fromkeys((*_RESULTS, "validations"), Asked.EXPRESSION),
    **dict.fromkeys(_CONDITIONS, Asked.MATCH_CONDITION),
    "celPreconditions": Asked.PRECONDITIONS,
    "images": Asked.IMAGE,
    "variables": Asked.VARIABLE,
}
"""The kind of check, by the list of the specification that has the expression."""
_OF_REQUEST: Final[dict[str, FieldPath]] = {
    "request.name": ("metadata", "name"),
    "request.namespace": ("metadata", "namespace"),
    "request.kind.kind": ("kind",),
    "request.kind.group": ("apiVersion",),
    "request.kind.version": ("apiVersion",),
}
_LONGEST_TEXT: Final = 100
_LONGEST_VALUE: Final = 60
_LARGEST_VALUE: Final = 1000
_MOST_MEMBERS: Final = 50
_DEEPEST: Final = 60


@dataclass(frozen=True, slots=True)
class Asking:
    """An expression that was evaluated: the field that holds it, below `spec`, empty if unknown;
    exception: whose it is, None for the policy's own."""

    evaluation: Evaluation
    path: FieldPath
    exception: CelException | None = None

    @property
    def list(self) -> str:
        """Return the list of the policy's specification that it is in; empty for none."""
        return str(self.path[0]) if self.path and self.exception is None else ""

    @property
    def error(self) -> CelError | None:
        """The reason why it has no value; None if it has one."""
        outcome = self.evaluation.outcome
        return outcome if isinstance(outcome, CelError) else None


Locate = Callable[[FieldPath, str, int], Location]
"""From the path of an expression, its text as it was evaluated and an offset in it to the location
of that character."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The body that holds a policy's expressions, and where it is written. exceptions: the
    policy's."""

    body: Body
    locate: Locate
    exceptions: Sequence[CelException] = ()


class Expressions:
    """The evaluations of one run of a policy.

    asked: in the order in which they ended.
    """

    def __init__(
        self,
        texts: Texts,
        evaluations: Sequence[Evaluation],
        attributes: Attributes,
        names_object: bool = True,
    ) -> None:
        """names_object: whether the variable `object` is the request's own object."""
        self.asked = tuple(_placed(texts, evaluations))
        self._texts = texts
        current = "oldObject" if attributes.object is None else "object"
        names: dict[str, FieldPath] = {current: (), f"request.{current}": (), **_OF_REQUEST}
        body = attributes.object or attributes.old or {}
        self._places = Places(body, names if names_object else {})
        self._is_secret = attributes.kind == "Secret"
        self._shown_variables: set[str] = set()

    def decision(self, asking: Asking, fields: Sequence[str] = ()) -> Decision:
        """An expression with its parts; fields: that it is about, the most telling first."""
        asked, name = self._name(asking)
        tree = self._part(parts_of(asking.evaluation, self._places), asking)
        pointer = fields[0] if fields else next(_pointers(tree), None)
        program, outcome = asking.evaluation.program, asking.evaluation.outcome
        if asking.error is not None:
            text = f"{name} has no value: {single_line(asking.error.message)}"
        elif isinstance(outcome, bool):
            names = any(isinstance(node, Ident) for node in nodes(program.root))
            is_constant = not names and sees_the_request_alone(program)
            word = "always " if is_constant else ""
            text = f"{name} is {word}{'true' if outcome else 'false'}"
            text += "" if is_constant else _reason(tree)
        elif asked is Asked.VARIABLE:
            text = f"{name} is {'hidden' if self._is_secret else _Brief(outcome)}"
        else:
            text = f"{name} gives {'what is hidden' if self._is_secret else _Brief(outcome)}"
        where = self._locate(asking, 0)
        return Decision(asked, tree.holds, text, where, pointer, MISSING, (tree,))

    def _name(self, asking: Asking) -> tuple[Asked, str]:
        if asking.exception is not None:
            at = asking.path[1] if asking.path else 0
            condition = asking.exception.conditions[int(at)].name
            return Asked.EXCEPTION, f"exception {asking.exception.key}, condition {condition}"
        if len(asking.path) < len(("list", 0)) or asking.list not in _ASKED:
            return Asked.EXPRESSION, path_text(("spec", *asking.path))
        asked, noun = _ASKED[asking.list], asking.list.removesuffix("s")
        entry = pointed_at(self._texts.body, map(str, asking.path[:2]))
        name = entry.get("name") or entry.get("key") if isinstance(entry, dict) else None
        return asked, f"{noun} {shown(name)}" if name else path_text(asking.path[:2])

    def _part(self, part: Part, asking: Asking) -> Decision:
        """A part of an expression, with the variables that it reads."""
        inner = [self._part(below, asking) for below in part.parts]
        if part.variable and part.variable not in self._shown_variables:
            self._shown_variables.add(part.variable)
            inner += self._variable(part.variable)
        pointer = None if part.path is None else pointer_of(*part.path)
        text = shortened(" ".join(part.text.split()), _LONGEST_TEXT)
        is_open = isinstance(part.value, bool) or is_shown_of_secret(pointer)
        hidden, brief = self._is_secret and not is_open, _Brief(part.value)
        if part.error is not None:
            holds, sentence = None, f"{shown(text)} has no value: {single_line(part.error.message)}"
        else:
            path = path_text(part.path) if part.is_element and part.path else ""
            held = "hidden" if hidden else str(brief)
            holds, sentence = part.value is not False, f"{shown(text)} is {shown(path) or held}"
        if part.is_element and inner:
            holds = inner[0].holds
        asked = Asked.ELEMENT if part.is_element else Asked.EXPRESSION
        value = MISSING if hidden or part.error is not None else brief.json()
        where = self._locate(asking, part.offset)
        return Decision(asked, holds, sentence, where, pointer, value, tuple(inner))

    def _variable(self, name: str) -> Iterator[Decision]:
        for asking in reversed(self.asked):
            if asking.list == "variables" and self._name(asking)[1] == f"variable {name}":
                yield self.decision(asking)
                return

    def _locate(self, asking: Asking, offset: int) -> Location:
        if asking.exception is not None:
            return asking.exception.location.character(pointer_of("spec", *asking.path), offset)
        return self._texts.locate(asking.path, asking.evaluation.program.source, offset)


def _placed(texts: Texts, evaluations: Sequence[Evaluation]) -> Iterator[Asking]:
    """Yield evaluations with the fields that hold their expressions. Where fields hold equal texts,
    the first evaluation belongs to the first field."""
    own: dict[str, list[FieldPath]] = {}
    for path, text in texts_below(texts.body):
        own.setdefault(text, []).append(path)
    others = {
        condition.expression: (exception, ("matchConditions", at, "expression"))
        for exception in texts.exceptions
        for at, condition in enumerate(exception.conditions)
    }
    for evaluation in evaluations:
        text = evaluation.program.source
        paths = own.get(text)
        if paths:
            yield Asking(evaluation, paths.pop(0) if len(paths) > 1 else paths[0])
        elif text in others:
            exception, path = others[text]
            yield Asking(evaluation, path, exception)
        else:
            yield Asking(evaluation, ())


def _pointers(decision: Decision) -> Iterator[str]:
    """Yield the fields of the parts that led to a decision, the innermost first."""
    alike = [part for part in decision.parts if part.holds is decision.holds]
    for part in alike:
        yield from _pointers(part)
    if decision.holds is None and decision.pointer is not None:
        yield decision.pointer
    for part in decision.parts:
        yield from () if part in alike else _pointers(part)
    if decision.pointer is not None:
        yield decision.pointer


def _reason(tree: Decision) -> str:
    """Return the innermost expression that made the whole false, its element and a value in it;
    empty for an expression that is true."""
    if tree.holds is not False:
        return ""
    element = ""
    while len(refusing := [part for part in tree.parts if part.holds is False]) == 1:
        tree = refusing[0]
        if tree.asked is Asked.ELEMENT:
            element = f"; {tree.text}"
    if tree.asked is Asked.ELEMENT:
        return element
    value = next((part.text for part in tree.parts if _is_operand(part)), "")
    return f": {tree.text.removesuffix(' is false')}{element}{value and '; '}{value}"


def _is_operand(part: Decision) -> bool:
    """Report whether a part is a value that an expression compares, not one of its conditions."""
    conditions = any(inner.asked is not Asked.VARIABLE for inner in part.parts)
    is_condition = conditions or part.text.startswith("has(")
    return not (isinstance(part.value, bool) and is_condition)


class _Brief:
    """The beginning of a value; is_whole: whether nothing is left out."""

    __slots__ = ("_left", "_text", "is_whole", "value")

    def __init__(self, value: Value) -> None:
        self._left = _MOST_MEMBERS
        self.is_whole = True
        self.value = self._of(value, 0)
        self._text = notation(self.value)

    def __str__(self) -> str:
        return shown(shortened(self._text, _LONGEST_VALUE))

    def _of(self, value: Value, depth: int) -> Value:
        self._left -= 1
        if isinstance(value, OptionalValue) and value.present:
            return OptionalValue(True, self._of(value.value, depth + 1))
        if isinstance(value, str):
            self.is_whole = self.is_whole and len(value) <= _LARGEST_VALUE
            return value[:_LARGEST_VALUE]
        if isinstance(value, Struct):
            fields = {key: self._of(held, depth + 1) for key, held in value.fields.items()}
            return Struct(value.type, fields, value.unset)
        if not isinstance(value, list | dict):
            return value
        most = max(self._left, 0) if depth < _DEEPEST else 0
        self.is_whole = self.is_whole and len(value) <= most
        if isinstance(value, list):
            return [self._of(member, depth + 1) for member in value[:most]]
        members = islice(value.items(), most)
        return {key: self._of(member, depth + 1) for key, member in members}

    def json(self) -> Json:
        """The value as JSON, or as text; MISSING for a large one."""
        text = self._text
        if not self.is_whole or len(text) > _LARGEST_VALUE:
            return MISSING
        try:
            json.dumps(self.value, allow_nan=False)
        except (TypeError, ValueError):
            return text
        return self.value
