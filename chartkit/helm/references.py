"""References of `values.schema.json` that lead out of the document: Helm would follow them.

Helm gives the schema the URL file:///values.schema.json, reads files and asks the network for
whatever is not in the document. What `urn:` names it resolves nowhere: Helm 4 takes any value
there, Helm 3 refuses the schema. Source: Helm, pkg/chart/common/util/jsonschema.go, and its library
santhosh-tekuri/jsonschema v6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from chartkit.helm.model import ChartError
from chartkit.model import Json

_Resolver = Any
_URL: Final = "file:///values.schema.json"
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DIALECT: Final = "$schema"
_NEWEST: Final = "https://json-schema.org/draft/2020-12/schema"
_MOST: Final = 100_000
_DATA: Final = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose values are not schemas."""
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
_URN: Final = re.compile(r"urn:", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[\w.~:/?#@!$&'()*+,;=%-]*", re.ASCII)
_BOM: Final = b"\xef\xbb\xbf"
_HINT: Final = (
    "chartkit reads no URL and no file for a chart: copy what is referred to into the schema's "
    "own $defs"
)


def check_references(content: bytes, file: str) -> list[str]:
    """Return the `urn:` references that nothing in a schema resolves; file: its path in the chart.

    Raises ChartError for the first reference that leads out of it, and for a schema that cannot be
    read.
    """
    try:
        text = content.removeprefix(_BOM).decode("utf-8", "replace")
        schema = json.loads(text, parse_int=float)
        suspect = next(_suspects(schema), None)
        return [] if suspect is None else _Walk(file).check(schema, suspect)
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


class _Walk:
    """A look at each place where a schema may be, and at each that a reference makes one."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._unresolved: dict[str, None] = {}
        self._known: dict[int, _Resolver] = {}
        self._draft: Any = None

    def check(self, schema: Json, suspect: str) -> list[str]:
        """Return the references that nothing resolves; raises ChartError for one that leads out."""
        from referencing import Registry

        schema = self._with_known_dialect(_normal(schema))
        self._draft = _specification(schema, _NEWEST)
        resource = self._draft.create_resource(schema)
        try:
            resolver = Registry().with_resource(_URL, resource).crawl().resolver(_URL)
            self._know(resource, resolver)
            self._visit(resource.contents, resolver.in_subresource(resource))
        except (AttributeError, KeyError, TypeError):
            # A keyword's value is of the wrong type, which `referencing` does not expect.
            raise _leads_out("$ref", suspect, self._file) from None
        return list(self._unresolved)

    def _with_known_dialect(self, schema: Json) -> Json:
        """The schema, with the newest draft in place of one that is named by a URN: Helm takes
        that."""
        dialect = schema.get(_DIALECT) if isinstance(schema, dict) else None
        if not isinstance(schema, dict) or not isinstance(dialect, str) or not _is_urn(dialect):
            return schema
        self._unresolved[dialect] = None
        return schema | {_DIALECT: _NEWEST}

    def _know(self, resource: Any, resolver: _Resolver) -> None:
        """Keep the resolver of each schema below the keywords of its draft."""
        pending = [(resource, resolver)]
        while pending:
            resource, above = pending.pop()
            own = above.in_subresource(resource)
            self._known[id(resource.contents)] = own
            pending.extend((subresource, own) for subresource in resource.subresources())

    def _visit(self, schema: Json, resolver: _Resolver) -> None:
        pending = [(schema, resolver)]
        seen: set[tuple[int, str]] = set()
        while pending:
            value, resolver = pending.pop()
            visit = (id(value), resolver._base_uri)
            if visit not in seen:
                seen.add(visit)
                pending.extend(self._parts(value, resolver))
            if len(seen) > _MOST:
                raise ChartError("has too many references", self._file)

    def _parts(self, value: Json, resolver: _Resolver) -> Iterator[tuple[Json, _Resolver]]:
        """Yield the schemas in a schema, and the schemas that it refers to."""
        if isinstance(value, list):
            yield from (self._within(inner, resolver) for inner in value)
        if not isinstance(value, dict):
            return
        for key, inner in value.items():
            if key in _REFERENCES and isinstance(inner, str):
                yield from self._referred(inner, resolver)
            elif key == _DIALECT and isinstance(inner, str):
                if not _is_draft(inner):
                    raise _leads_out(_DIALECT, inner, self._file)
            elif key in _BY_NAME and isinstance(inner, dict):
                yield from (self._within(member, resolver) for member in inner.values())
            elif key not in _DATA:
                yield self._within(inner, resolver)

    def _referred(self, reference: str, resolver: _Resolver) -> Iterator[tuple[Json, _Resolver]]:
        from referencing.exceptions import NoSuchAnchor, PointerToNowhere, Unresolvable

        if _is_draft(reference):
            return
        if not _PLAIN.fullmatch(reference):
            # Python and Go need not agree on what such a URL means.
            raise _leads_out("$ref", reference, self._file)
        try:
            resolved = resolver.lookup(reference)
        except (NoSuchAnchor, PointerToNowhere):
            # Nothing is there: Helm says so, without leaving the document.
            return
        except Unresolvable:
            if _is_urn(reference):
                self._unresolved[reference] = None
                return
            raise _leads_out("$ref", reference, self._file) from None
        yield self._within(resolved.contents, resolved.resolver)

    def _within(self, value: Json, resolver: _Resolver) -> tuple[Json, _Resolver]:
        """A value, and where references in it start from; resolver: those around it."""
        if not isinstance(value, dict):
            return value, resolver
        inner = self._known.get(id(value))
        if inner is not None:
            return value, inner
        specification = _specification(value, self._draft)
        return value, resolver.in_subresource(specification.create_resource(value))


def _is_urn(url: str) -> bool:
    return bool(_PLAIN.fullmatch(url) and _URN.match(url))


def _specification(schema: Json, otherwise: Any) -> Any:
    """The specification that a schema names; otherwise: one, or the URL of its dialect."""
    from referencing.jsonschema import specification_with

    dialect = schema.get(_DIALECT) if isinstance(schema, dict) else None
    if isinstance(dialect, str):
        return specification_with(_canonical(dialect))
    return specification_with(otherwise) if isinstance(otherwise, str) else otherwise


def _normal(value: Json) -> Json:
    """A schema whose dialects are written as their specification does."""
    if isinstance(value, list):
        return [_normal(inner) for inner in value]
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
            normal[key] = inner if key in _DATA else _normal(inner)
    return normal


def _canonical(dialect: str) -> str:
    name = dialect.partition("#")[0].partition("://")[2]
    if name.startswith("json-schema.org/draft-0"):
        return f"http://{name}"
    return f"https://{name}" if name.endswith(("09/schema", "12/schema")) else _NEWEST


def _leads_out(key: str, url: str, file: str) -> ChartError:
    return ChartError(f"its {key} leads out of the schema, to {url}", file, _HINT)
