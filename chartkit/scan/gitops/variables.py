"""Variables of Flux in objects: `${name:=default}`.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution.
"""

from __future__ import annotations

import re
from typing import Final

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Body, FieldPath, Json

_VARIABLE: Final = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)(?::?[=-]([^{}$]*)|[^{}$]*)\}")
_ESCAPED: Final = "\x00{"
_DEEPEST: Final = 5
"""Defaults within defaults that are filled in."""


class _UnknownError(Exception):
    """A variable without a default."""


def filled(value: Json, unknown: list[FieldPath]) -> Json:
    """Return a value with the default of each variable in its texts. A text or list with a variable
    that has no default is left out, and its path added to `unknown`."""
    try:
        return _filled(value, unknown, ())
    except _UnknownError:
        unknown.append(())
        return None


def _filled(value: Json, unknown: list[FieldPath], path: FieldPath) -> Json:
    if isinstance(value, dict):
        members: Body = {}
        for key, each in value.items():
            try:
                members[key] = _filled(each, unknown, (*path, key))
            except _UnknownError:
                unknown.append((*path, key))
        return members
    if isinstance(value, list):
        inside: list[FieldPath] = []
        items = [_filled(each, inside, ()) for each in value]
        if inside:
            raise _UnknownError
        return items
    return _text(value) if isinstance(value, str) and "${" in value else value


def _text(text: str) -> Json:
    """Return what a text with variables stands for, of the type that YAML gives it then; raise
    _UnknownError."""
    found = text
    for _ in range(_DEEPEST):
        before, found = found, _VARIABLE.sub(_default, found)
        if found == before:
            break
    found = found.replace(_ESCAPED, "${")
    if found == text or "\n" in found:
        return found
    try:
        documents = read_text(found)
    except InputError:
        return found
    return documents[0].body if len(documents) == 1 else None


def _default(match: re.Match[str]) -> str:
    if match[1] is None:
        return _ESCAPED
    if match[2] is None:
        raise _UnknownError
    return match[2]
