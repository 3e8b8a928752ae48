"""The comparison of filters: whether one takes every object of another, where that is plain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.cluster_policy.policy import Match, ResourceFilter
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.schemas.kind_selectors import parse_kind_selector

_MOST_PAIRS: Final = 10_000


def filters_of(match: Match) -> Sequence[ResourceFilter]:
    """Return the filters of a match or exclude that are read: Kyverno passes over those written
    directly next to `any` or `all`, and over `all` next to `any`."""
    return match.any or match.all or (match.direct,)


def is_empty(one: ResourceFilter) -> bool:
    """Return whether a filter names nothing: no object passes it."""
    return one == ResourceFilter()


def match_covers(wide: Match, narrow: Match) -> bool:
    """Return whether everything that one match takes is taken by another; False where that is not
    plain."""
    if narrow.all and not narrow.any and len(narrow.all) > 1:
        return False
    return all(
        any(_covers(other, one) for other in filters_of(wide))
        if wide.any or not wide.all
        else all(_covers(other, one) for other in wide.all)
        for one in filters_of(narrow)
    )


def _covers(wide: ResourceFilter, narrow: ResourceFilter) -> bool:
    if is_empty(wide) or wide.has_user:
        return False
    return (
        _lists(wide.kinds, narrow.kinds, _kind_covers)
        and _lists(_names(wide), _names(narrow), _text_covers)
        and _lists(wide.namespaces, narrow.namespaces, _text_covers)
        and _lists(wide.operations, narrow.operations, str.__eq__)
        and wide.annotations in (None, {}, narrow.annotations)
        and wide.selector in (None, narrow.selector)
        and wide.namespace_selector in (None, narrow.namespace_selector)
    )


def _names(one: ResourceFilter) -> tuple[str, ...]:
    return (one.name, *one.names) if one.name else one.names


def _lists(wide: Sequence[str], narrow: Sequence[str], covers: Callable[[str, str], bool]) -> bool:
    """Return whether each of some texts is covered by another one; no texts are all of them."""
    if not wide:
        return True
    if not 0 < len(narrow) * len(wide) < _MOST_PAIRS:
        return False
    return all(any(covers(other, one) for other in wide) for one in narrow)


def _text_covers(wide: str, narrow: str) -> bool:
    return wide in ("*", narrow) or (not has_wildcard(narrow) and compile_wildcard(wide)(narrow))


def _kind_covers(wide: str, narrow: str) -> bool:
    return all(map(_text_covers, parse_kind_selector(wide), parse_kind_selector(narrow)))
