"""The task of a generate rule, or of one entry of its foreach: data, a clone or many clones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import compile_template
from chartkit.engine.kubernetes.selectors import LabelSelector, read_selector
from chartkit.engine.ports.cluster import ObjectKey
from chartkit.errors import EvaluationError
from chartkit.go.fmt import go_sprint
from chartkit.model import Body, Json
from chartkit.schemas.kind_selectors import is_version

_FIELDS: Final = ("apiVersion", "kind", "namespace", "name", "uid", "data", "clone", "cloneList")


@dataclass(frozen=True, slots=True)
class CloneList:
    """The sources of clones: kinds (apiVersion and kind), their namespace, their labels."""

    kinds: tuple[tuple[str, str], ...]
    namespace: str
    selector: LabelSelector | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pattern with its variables filled in.

    target: of cloneList only the namespace counts; source: what is cloned, None for data.
    """

    target: ObjectKey
    data: Body
    source: ObjectKey | None = None
    clone_list: CloneList | None = None


Pattern = Callable[[Context], Wanted]
"""Fills a pattern in; raises EvaluationError."""


def compile_pattern(body: Body) -> Pattern:
    """The pattern that stands in a generate block; what has no variables is read once."""
    fields = {key: body[key] for key in _FIELDS if body.get(key) is not None}
    template = compile_template(fields)
    if not template.is_constant:
        return lambda context: _read(template.resolve(context))
    try:
        wanted = _read(template.value)
    except EvaluationError as error:
        text = error.message

        def fail(_context: Context) -> Wanted:
            raise EvaluationError(text)

        return fail
    return lambda _context: wanted


def _read(fields: Body) -> Wanted:
    target = ObjectKey(*(_text(fields, key) for key in ("apiVersion", "kind", "namespace", "name")))
    clone = _object(fields, "clone")
    name, namespace = _text(clone, "name"), _text(clone, "namespace")
    clone_list = _clone_list(_object(fields, "cloneList"))
    if name:
        return Wanted(target, {}, target._replace(namespace=namespace, name=name))
    if clone_list is not None:
        return Wanted(target, {}, clone_list=clone_list)
    return Wanted(target, _object(fields, "data"))


def _clone_list(body: Body) -> CloneList | None:
    kinds = body.get("kinds") or ()
    if not kinds:
        return None
    for kind in kinds:
        if not isinstance(kind, str):
            raise EvaluationError(f"cloneList.kinds must be texts, not {go_sprint(kind)}")
    selector = read_selector(body.get("selector"))
    return CloneList(tuple(map(split_kind, kinds)), _text(body, "namespace"), selector)


def split_kind(text: str) -> tuple[str, str]:
    """`apps/v1/Deployment` as apiVersion and kind; empty where no version is named."""
    api_version, _, kind = text.rpartition("/")
    return (api_version, kind) if is_version(api_version.rpartition("/")[2]) else ("", text)


def _text(body: Body, key: str) -> str:
    value = body.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise EvaluationError(f"{key} must be a text, not {go_sprint(value)}")
    return value


def _object(body: Body, key: str) -> Body:
    value: Json = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise EvaluationError(f"{key} must be an object, not {go_sprint(value)}")
    return value
