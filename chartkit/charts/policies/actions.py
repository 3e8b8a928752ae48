"""`actions` of chartkit.yaml as overrides of Kyverno, of which the first that fits counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.project.settings import NamespaceAction

_WILDCARDS = frozenset("*?")


def overrides(actions: Sequence[NamespaceAction]) -> list[Body]:
    """Return the overrides for actions of namespaces, of which the last that fits counts.

    A name that an earlier override decides is left out: Kyverno refuses a ClusterPolicy with two
    actions for one namespace.
    """
    found: list[Body] = []
    decided: list[str] = []
    for each in reversed(actions):
        where: Body = {}
        if each.namespaces:
            names = [name for name in each.namespaces if not _is_decided(name, decided)]
            if not names:
                continue
            where["namespaces"] = names
        if each.selector is not None:
            where["namespaceSelector"] = each.selector
        elif each.namespaces:
            decided += each.namespaces
        found.append({"action": each.action.value, **where})
    return found


def require_no_overlap(actions: Sequence[NamespaceAction], policy: str) -> None:
    """Raise InputError where a ClusterPolicy cannot hold actions: a namespace with one, in a
    pattern with another."""
    for later, name, earlier, pattern in _overlaps(actions):
        if _is_decided(pattern, later.namespaces):
            continue
        message = (
            f"'{name}' ({later.action}) is within '{pattern}' ({earlier.action}), and Kyverno "
            f"refuses a ClusterPolicy such as {policy} with both"
        )
        hint = "name the namespaces without a wildcard, or say policyType: ValidatingPolicy"
        raise InputError(message, later.location, hint)


def _overlaps(
    actions: Sequence[NamespaceAction],
) -> Iterator[tuple[NamespaceAction, str, NamespaceAction, str]]:
    for index, later in enumerate(actions):
        for earlier in actions[:index]:
            if later.action is earlier.action:
                continue
            for name in later.namespaces:
                for pattern in earlier.namespaces:
                    if _WILDCARDS & set(pattern) and name != pattern and fnmatchcase(name, pattern):
                        yield later, name, earlier, pattern


def _is_decided(name: str, decided: Sequence[str]) -> bool:
    """Return whether patterns before cover a name, or a pattern as a whole."""
    return any(name == each or fnmatchcase(name, each) for each in decided)
