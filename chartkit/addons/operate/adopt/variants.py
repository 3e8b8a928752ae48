"""The variants of a policy in several environments, as settings of chartkit.yaml: actions, and
exclusions of all rules."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Final

from chartkit.addons.operate.adopt.actions import (
    action_settings,
    described_actions,
    has_overrides,
    without_actions,
)
from chartkit.addons.operate.adopt.model import plain
from chartkit.go.fmt import go_json
from chartkit.model import Body, mapping_at, mappings_at
from chartkit.wording import counted

_NARROWING: Final = frozenset(("namespaces", "kinds", "names", "selector", "namespaceSelector"))
"""The fields of Kyverno's resource descriptions that `exclude` of chartkit.yaml takes."""


def settings_for(base: Body, variant: Body) -> Body | None:
    """Return the settings with which a policy is as a variant of it; None if there are none."""
    one, two = plain(base), plain(variant)
    if one == two:
        return {}
    if any(one.get(key) != two.get(key) for key in ("apiVersion", "kind")):
        return None
    settings: Body = {}
    if described_actions(one) != described_actions(two):
        actions = None if has_overrides(one) else action_settings(two)
        if actions is None:
            return None
        settings |= actions
    excluded = _exclusions(one, two)
    if excluded is None or without_settings(one) != without_settings(two):
        return None
    return settings | ({"exclude": excluded} if excluded else {})


def described(settings: Body) -> str:
    """Return settings in words; empty for none."""
    parts = []
    if "action" in settings:
        where = "everywhere else" if "actions" in settings else "everywhere"
        parts.append(f"{settings['action']} {where}")
    for each in settings.get("actions") or ():
        where = ", ".join(each.get("namespaces") or ()) or "namespaces of its selector"
        parts.append(f"{each['action']} in {where}")
    for name, value in (settings.get("parameters") or {}).items():
        parts.append(f"{name}: {go_json(value)}")
    if excluded := settings.get("exclude"):
        parts.append(f"{counted(len(excluded), 'exclusion')} more")
    return ", ".join(parts)


def without_settings(body: Body) -> Body:
    """Return the spec of a policy without its actions and exclusions."""
    spec = copy.deepcopy(without_actions(body))
    for rule in mappings_at(spec, "rules"):
        if _blocks(rule) is not None:
            rule.pop("exclude", None)
    return spec


def _exclusions(base: Body, variant: Body) -> list[Body] | None:
    """Return what every rule of a variant excludes besides what the base does; None where rules
    differ, and where `exclude` cannot say it."""
    found: list[list[Body]] = []
    rules = [mappings_at(body, "spec", "rules") for body in (base, variant)]
    for own, other in zip(*rules, strict=False):
        before, after = _blocks(own), _blocks(other)
        if before is None or after is None:
            if own.get("exclude") != other.get("exclude"):
                return None
            found.append([])
            continue
        if after[: len(before)] != before:
            return None
        found.append(after[len(before) :])
    more = found[0] if found else []
    return None if any(each != more for each in found) else as_exclusions(more)


def excluded_by_all(body: Body) -> list[Body] | None:
    """Return what every rule of a policy excludes; None where rules differ in it, and where
    `exclude` cannot say it."""
    found = [_blocks(rule) for rule in mappings_at(body, "spec", "rules")]
    first = found[0] if found else []
    return None if first is None or any(each != first for each in found) else as_exclusions(first)


def as_exclusions(blocks: Sequence[Body]) -> list[Body] | None:
    """Return blocks of Kyverno's `exclude.any` as chartkit.yaml has them; None where it cannot."""
    if not all(map(_is_setting, blocks)):
        return None
    return [mapping_at(each, "resources") for each in blocks]


def _blocks(rule: Body) -> list[Body] | None:
    """Return the blocks of which any excludes an object; None for another form of them."""
    exclude = rule.get("exclude") or {}
    if not isinstance(exclude, dict) or not exclude.keys() <= {"any"}:
        return None
    return mappings_at(exclude, "any")


def _is_setting(block: Body) -> bool:
    resources = mapping_at(block, "resources")
    return block.keys() == {"resources"} and bool(resources) and resources.keys() <= _NARROWING
