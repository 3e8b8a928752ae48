"""The permissions of Kyverno's controllers that new policies need and the old one did not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.charts.rbac.permissions import needs
from chartkit.charts.rbac.requirements import SECRETS_NOTE, Controller, Needs
from chartkit.model import Body

_UNREADY: Final = (
    "Kyverno's reports controller may not read {resources} by its chart: until it may (get, list, "
    "watch), background scans report nothing of them, and the new policy, which judges requests "
    "all the same, has ready: false"
)
_MORE: Final = "Kyverno's {controller} must be allowed to {verbs} {resource}"

_Right = tuple[Controller, str, str]


def permission_notes(legacy: Body, documents: Sequence[Body]) -> list[str]:
    """Return what Kyverno's controllers must be allowed for new policies, beyond what its chart
    gives them and what the old policy needed."""
    if not documents:
        return []
    old, new = needs([legacy]), needs(documents)
    return [*_more(old, new), *_unready(new)]


def _more(old: Needs, new: Needs) -> Iterator[str]:
    had: dict[_Right, set[str]] = {}
    for one in old.permissions:
        had.setdefault((one.controller, one.group, one.resource), set()).update(one.verbs)
    for one in new.permissions:
        right = one.controller, one.group, one.resource
        verbs = [verb for verb in one.verbs if verb not in had.get(right, ())]
        if verbs and not one.scan:
            controller = one.controller.value.replace("-", " ")
            resource = _shown(one.group, one.resource)
            yield _MORE.format(controller=controller, verbs=", ".join(verbs), resource=resource)


def _unready(new: Needs) -> Iterator[str]:
    unread = [_shown(one.group, one.resource) for one in new.permissions if one.scan]
    if any(one.message == SECRETS_NOTE for one in new.unknown):
        unread.append("secrets")
    if unread:
        yield _UNREADY.format(resources=", ".join(dict.fromkeys(unread)))


def _shown(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource
