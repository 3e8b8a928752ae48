"""References of `values.schema.json` that lead out of the document: Helm would follow them.

Helm gives the schema the URL file:///values.schema.json, reads files and asks the network for
whatever is not in the document. Source: Helm, pkg/chart/common/util/jsonschema.go, and its
library santhosh-tekuri/jsonschema v6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from chartkit.chart.helm.model import ChartError
from chartkit.model import Json

_Resolver = Any
_URL: Final = "file:///values.schema.json"
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DIALECT: Final = "$schema"
_NEWEST: Final = "https://json-schema.org/draft/2020-12/schema"
_MOST: Final = 100_000
_DATA: Final = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose values are no schemas."""
_BY_NAME: Final = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)
"""Keywords whose keys are names."""
_DRAFT: Final = re.compile(
    r"https?://json-schema\.org/(?:schema|draft-0[467]/schema|draft/(?:2019-09|2020-12)/"
    r"(?:schema|meta/(?:core|applicator|unevaluated|validation|meta-data|content|format"
    r"|format-annotation|format-assertion)))"
)
"""The meta-schemas that Helm carries."""
_PLAIN: Final = re.compile(r"[\w.~:/?#@!$&'()*+,;=%-]*", re.ASCII)
_BOM: Final = b"\xef\xbb\xbf"
_HINT: Final = (
    "chartkit reads no URL and no file for a chart: copy what is referred to into the schema's "
    "own $defs"
)


def check_references(content: bytes, file: str) -> None:
    """Raises ChartError for the first reference that leads out of a schema, and for a schema that
    cannot be read; file: its path in the chart."""
    try:
        text = content.removeprefix(_BOM).decode("utf-8", "replace")
        schema = json.loads(text, parse_int=float)
        suspect = next(_suspects(schema), None)
        if suspect is not None:
            _check(schema, suspect, file)
    except RecursionError:
        raise ChartError("is nested too deep", file) from None
    except ValueError as error:
        raise ChartError(f"is not JSON: {error}", file) from None


def _suspects(value: Json) -> Iterator[str]:
    """References, anywhere and in any sense, that are more than a fragment."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _REFERENCES and isinstance(inner, str):
                yield from [inner] * (not inner.startswith("#"))
            elif key == _DIALECT and isinstance(inner, str):
                yield from [inner] * (not _is_draft(inner))
            else:
                yield from _suspects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _suspects(inner)


def _is_draft(url: str) -> bool:
    return bool(_DRAFT.fullmatch(url.partition("#")[0]))


def _check(schema: Json, suspect: str, file: str) -> None:
    """Looks at each place where a schema may be, and at each that a reference makes one."""
    from referencing import Registry

    resource = _specification(schema).create_resource(_normal(schema, file))
    try:
        registry = Registry().with_resource(_URL, resource).crawl()
        pending = [(resource.contents, registry.resolver(_URL))]
        seen: set[tuple[int, int]] = set()
        while pending:
            value, resolver = pending.pop()
            if isinstance(value, dict):
                resolver = resolver.in_subresource(_specification(schema).create_resource(value))
            visit = (id(value), _base(resolver))
            if visit not in seen:
                seen.add(visit)
                pending.extend(_parts(value, resolver, file))
            if len(seen) > _MOST:
                raise ChartError("has too many references", file)
    except (AttributeError, KeyError, TypeError):
        # A keyword's value is of the wrong type, which `referencing` does not expect.
        raise _leads_out("$ref", suspect, file) from None


def _parts(value: Json, resolver: _Resolver, file: str) -> Iterator[tuple[Json, _Resolver]]:
    """What is to be looked at next: the schemas in a schema, and those that it refers to."""
    if isinstance(value, list):
        yield from ((inner, resolver) for inner in value)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in _REFERENCES and isinstance(inner, str):
            yield from _referred(inner, resolver, file)
        elif key == _DIALECT and isinstance(inner, str) and not _is_draft(inner):
            raise _leads_out(key, inner, file)
        elif key in _BY_NAME and isinstance(inner, dict):
            yield from ((each, resolver) for each in inner.values())
        elif key not in _DATA:
            yield inner, resolver


def _referred(reference: str, resolver: _Resolver, file: str) -> Iterator[tuple[Json, _Resolver]]:
    from referencing.exceptions import NoSuchAnchor, PointerToNowhere, Unresolvable

    if _is_draft(reference):
        return
    if not _PLAIN.fullmatch(reference):
        # Python and Go need not agree on what such a URL means.
        raise _leads_out("$ref", reference, file)
    try:
        found = resolver.lookup(reference)
    except (NoSuchAnchor, PointerToNowhere):
        # Nothing is there: Helm says so, without leaving the document.
        return
    except Unresolvable:
        raise _leads_out("$ref", reference, file) from None
    yield found.contents, found.resolver


def _base(resolver: _Resolver) -> int:
    """Something that tells the resource that references start from."""
    from referencing.exceptions import Unresolvable

    try:
        return id(resolver.lookup("#").contents)
    except Unresolvable:
        return 0


def _specification(schema: Json) -> Any:
    from referencing.jsonschema import specification_with

    dialect = schema.get(_DIALECT) if isinstance(schema, dict) else None
    return specification_with(_canonical(dialect) if isinstance(dialect, str) else _NEWEST)


def _normal(value: Json, file: str) -> Json:
    """A schema whose dialects are written as their specification does."""
    if isinstance(value, list):
        return [_normal(inner, file) for inner in value]
    if not isinstance(value, dict):
        return value
    normal = {}
    for key, inner in value.items():
        if key == _DIALECT and isinstance(inner, str):
            if _is_draft(inner):
                normal[key] = _canonical(inner)
            else:
                normal[key] = inner
        else:
            normal[key] = inner if key in _DATA else _normal(inner, file)
    return normal


def _canonical(dialect: str) -> str:
    name = dialect.partition("#")[0].partition("://")[2]
    if name.startswith("json-schema.org/draft-0"):
        return f"http://{name}"
    return f"https://{name}" if name.endswith(("09/schema", "12/schema")) else _NEWEST


def _leads_out(key: str, url: str, file: str) -> ChartError:
    return ChartError(f"its {key} leads out of the schema, to {url}", file, _HINT)
