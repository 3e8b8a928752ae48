"""The identity of a violation, which stays the same where lines move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from chartkit.model import Body, Json, Resource, RuleResult, Status, pointed_at, pointer_steps

_WITHOUT_NAME: Final = " in "
_PARTS: Final = 4


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """A violation of a rule by an object.

    policy: its ID, the name but for policies in CEL; rule: empty for a policy without rules;
    object: `apiVersion/kind/namespace/name`, the namespace empty for cluster-scoped objects; for an
    object without a name with its file, which is all that plain JSON has; field: the path of the
    field that it is about, such as `spec.containers[name=app].image`, empty where none is known;
    is_error: whether the rule could not be evaluated.
    """

    policy: str
    rule: str
    object: str
    field: str = ""
    is_error: bool = False

    def __str__(self) -> str:
        rule = f"{self.policy}/{self.rule}" if self.rule else self.policy
        at = f" at {self.field}" if self.field else ""
        return f"{rule}: {self.object}{at}"


def violations_of(resource: Resource, result: RuleResult) -> Iterator[Violation]:
    """Yield the violations of a result: one for each field, at least one."""
    name, is_error = object_name(resource), result.status is Status.ERROR
    for pointer in result.fields or ("",):
        field = field_path(resource.body, pointer)
        yield Violation(result.policy_id, result.rule, name, field, is_error)


def object_name(resource: Resource) -> str:
    """Return the identity of an object, without a line number."""
    path = PurePath(resource.location.file).as_posix() + resource.location.path
    if not resource.kind:
        return path
    parts = (resource.api_version, resource.kind, resource.namespace, resource.name)
    return "/".join(parts) + ("" if resource.name else f"{_WITHOUT_NAME}{path}")


def kind_and_namespace(name: str) -> tuple[str, str, str]:
    """The API version, kind and namespace of an object of that name; empty for plain JSON."""
    parts = name.partition(_WITHOUT_NAME)[0].rsplit("/", 3)
    return (parts[0], parts[1], parts[2]) if len(parts) == _PARTS else ("", "", "")


def field_path(body: Body, pointer: str) -> str:
    """Return the path of a field. An item of a list is named by its `name`, where it alone has it,
    and by its index otherwise."""
    value: Json = body
    parts: list[str] = []
    for step in pointer_steps(pointer):
        if isinstance(value, list):
            item = pointed_at(value, (step,))
            name = item.get("name") if isinstance(item, dict) else None
            same = [
                other for other in value if isinstance(other, dict) and other.get("name") == name
            ]
            is_named = isinstance(name, str) and name and len(same) == 1
            parts.append(f"[name={name}]" if is_named else f"[{step}]")
            value = item
        else:
            is_first = not parts
            if not step or "." in step or "/" in step:
                key = f"[{step}]"
            else:
                key = step if is_first else f".{step}"
            parts.append(key)
            value = value.get(step) if isinstance(value, dict) else None
    return "".join(parts)
