"""Mends values files where that is safe: what no template reads is put where one does.

A fix changes only what has no effect as it stands, so that nothing that works is lost. Comments and
order stay.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any, Final

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Body, Location
from chartkit.output.round_trip import loaded
from chartkit.schemas.json_schema import require_single_keys
from chartkit.values.lint.features import MISPLACED, misplaced, takes_features
from chartkit.values.lint.filters import WEBHOOKS_AS_LIST, is_one_mapping
from chartkit.values.lint.subject import mapping

Fix = Callable[[Any, Body], bool]
"""Mends a document in place; takes the chart's defaults too, and tells whether it did anything."""


def mend(text: str, file: str, defaults: Body) -> tuple[str, list[str]]:
    """A values file as it should be, and the ids of what was mended; the text as it was where
    nothing is.

    file: what messages call it. Raises InputError for a text that cannot be read, or not be edited
    without a change to other lines.
    """
    from ruamel.yaml.error import YAMLError

    documents = read_text(text, file)
    if len(documents) != 1:
        return text, []
    require_single_keys(documents[0])
    try:
        yaml, document = loaded(text)
    except YAMLError:
        hint = "mend it by hand: `chartkit explain` says how"
        message = "cannot be edited without a change to other lines"
        raise InputError(message, Location(file), hint) from None
    if not isinstance(document, dict):
        return text, []
    done = [rule_id for rule_id, fix in FIXES.items() if fix(document, defaults)]
    if not done:
        return text, []
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue(), done


def _move_features(document: Any, defaults: Body) -> bool:
    known = mapping(defaults, "features")
    moved = False
    for path in list(misplaced(document, defaults, known)):
        features = document.get("features")
        if not takes_features(document) or path[-1] in (features or ()):
            continue
        parents = [document]
        for step in path[:-1]:
            parents.append(parents[-1][step])
        value = parents[-1].pop(path[-1])
        if features is None:
            document["features"] = {path[-1]: value}
        else:
            features[path[-1]] = value
        _drop_empty(parents, path[:-1])
        moved = True
    return moved


def _drop_empty(parents: list[Any], path: tuple[str | int, ...]) -> None:
    """Takes out what held nothing else, and says nothing now."""
    for parent, step in zip(reversed(parents[:-1]), reversed(path), strict=True):
        if parent[step]:
            return
        del parent[step]


def _webhooks_as_mapping(document: Any, defaults: Body) -> bool:  # noqa: ARG001 - as all fixes
    config = document.get("config")
    if not isinstance(config, dict) or not is_one_mapping(config.get("webhooks")):
        return False
    config["webhooks"] = config["webhooks"][0]
    return True


FIXES: Final[Mapping[str, Fix]] = {
    MISPLACED: _move_features,
    WEBHOOKS_AS_LIST: _webhooks_as_mapping,
}
"""The fixes, by the id of what they mend."""
