"""Mutations of real inputs: of their structure, of their text, of arguments.

A mutation changes one place of a document to what a person, a program or an attacker may have put
there: a value of another type, a number that no type holds, text that another layer takes for its
own, a part of another document.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import yaml

VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 1.5, "", "x", "true", "null", [], {}, [None], [[]], [{}],
    {"": None}, {"a": "x"}, ["x"], [1, "a", None], 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1,
    2**63, 2**64, -(2**63) - 1, 10**309, 10**400, 1e308, -0.0, 5e-324, float("nan"), float("inf"),
    -float("inf"), "1e999", "9" * 310, "0x" + "f" * 40, "-", "NaN", ".inf", "0o8", "1_000",
    "2020-13-01", "a" * 300, "a/" * 200, "a" * 60_000, "a\0b", "\ud800", "\udcff\udfff",
    "\x1b[2J\x9b\u202e", "a\n::error::b", "<<", "~", "=", "!!python/object:os.system", "é", "😀",
    "\ufeff", "../../../x", "/dev/zero", "/dev/null", "/proc/self/mem",
    "https://u:p@127.0.0.1:1/?token=t", "*", "?*", "**" * 50, "!", "!x & y", "x | y", ">=1Gi",
    "1-2", "!1-2", "1Gi", "1e9999999", "1" * 5_000 + "Gi", "5m", "9" * 30 + "h", "1.2.3",
    "v1.99999999999999999999.0", ">=1.0.0 <2", "10.0.0.0/99", "::1", "0 0 31 2 *", "* * * * * *",
    "{{", "}}", "{{ }}", "{{ request.object }}", "{{request.object.metadata.labels}}", "{{ x",
    "{{ {{ a }} }}", "{{ request.object.spec.containers[0:99999999999999999999] }}", "$(x)",
    "$(./../x)", "<% x %>", "{{ .Values.x }}", "{{ to_number('1e999') }}",
    "{{ random('[a-z]{99999999}') }}", "{{ base64_decode('/w==') }}", "{{ 'a' * 3 }}",
    "{{ time_add('2020-01-01T00:00:00Z','999999999h') }}", "{{ images.containers.*.name }}",
    "{{ range(`0`,`9`) }}", "{{ join('', request.object.*) }}", "{{ @ }}", "{{ element }}",
    "{{ serviceAccountName }}", "{{ request.roles[0] }}", "object.spec", "object.x.y.z",
    "[1,2].map(x, x/0)", "'a'.matches('(((((')", "variables.a", "1/0", "dyn(1) == 'a'", "(" * 400,
    "[" * 3_000, "{a: " * 300, "(a+)+$", "^(((a*)*)*)*$", "[[:x:]]", "\\", "%s%d%!", "&a", "*a",
    "|", ">-", "ghcr.io/x/y:z@sha256:" + "0" * 64, "@", ":", "a:b:c:d", "x@sha256:1", "Pod", "*/*",
    "v1/Pod/status", "a/b/c/d/e", "Enforce", "Audit", "CREATE", "kyverno.io/v1", "v1", "apps/v1",
    "cli.kyverno.io/v1alpha1", "ClusterPolicy", "List",
)  # fmt: skip
"""What is put in the place of a value."""

KEYS: Final = (
    "", "metadata", "spec", "rules", "items", "name", "match", "validate", "mutate", "generate",
    "context", "foreach", "kind", "apiVersion", "x", "a.b", "a/b", "~0", "(x)", "=(x)", "+(x)",
    "^(x)", "X(x)", "<(x)", "<<", "__proto__", "\ud800", "a" * 300, "a\nb", "é", "labels",
    "annotations", "namespace", "any", "all", "list", "subresource", "status", "null",
)  # fmt: skip
_TEXTS: Final = (
    "\0", "\x1b[2J", "\r", "\t", "---\n", "...\n", "- ", ": ", "#", "'", '"', "{", "}", "[", "]",
    "&a ", "*a ",
    "!!binary /w==", "!!int x", "? ", "|\n", "\ufeff", "\u2028", "%YAML 1.2\n---\n", "<<: *a\n",
    "a: " * 300,
)  # fmt: skip

_SMALL: Final = 20_000
"""Letters of a text whose documents are kept."""

Pick = random.Random


def mutated(text: str, others: Sequence[str], pick: Pick) -> str:
    """Return a text with some places changed; others: texts of which parts are taken."""
    if pick.random() < 0.15:
        return _text_changed(text, pick)
    try:
        documents = list(_documents(text) if len(text) < _SMALL else _loaded(text))
        donors = _documents(pick.choice(others)) if others else ()
    except (yaml.YAMLError, ValueError):
        return _text_changed(text, pick)
    if not documents:
        return _text_changed(text, pick)
    for _ in range(pick.choice((1, 1, 1, 2, 3))):
        documents[pick.randrange(len(documents))] = _changed(pick.choice(documents), donors, pick)
    return _written(documents, pick)


@lru_cache(maxsize=512)
def _documents(text: str) -> tuple[Any, ...]:
    """Return the documents of a text, which nobody may change."""
    return _loaded(text)


def _loaded(text: str) -> tuple[Any, ...]:
    return tuple(yaml.load_all(text, Loader=yaml.CSafeLoader))


def argument(text: str, pick: Pick) -> str:
    """Return an argument of a command with a part of it changed; never what no shell passes on."""
    value = pick.choice(VALUES)
    part = value if isinstance(value, str) else json.dumps(value, default=str)
    start, end = sorted((pick.randint(0, len(text)), pick.randint(0, len(text))))
    made = pick.choice(
        (part, text[:start] + part + text[end:], text[:start] + text[end:], text * 2)
    )
    # As a shell passes bytes on that are not strings.
    return "".join(
        "\udcff" if "\ud800" <= each <= "\udfff" else each for each in made.replace("\0", "")
    )


def _written(documents: Sequence[Any], pick: Pick) -> str:
    if len(documents) == 1 and pick.random() < 0.4:
        return _as_json(documents[0])
    try:
        return yaml.dump_all(
            documents, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True
        )
    except (yaml.YAMLError, UnicodeEncodeError, RecursionError):
        return _as_json(documents[0])


def _as_json(document: Any) -> str:
    """Return a document as JSON; keys that JSON has no text for (bytes, lists) are left out."""
    return json.dumps(document, default=str, skipkeys=True)


def _changed(document: Any, donors: Sequence[Any], pick: Pick) -> Any:
    """A copy of a document with one place changed."""
    made = copy.deepcopy(document)
    places = list(_places(made))
    if not places:
        return pick.choice(VALUES)
    holder, key = pick.choice(places)
    pick.choice(_CHANGES)(holder, key, donors, pick)
    return made


def _places(value: Any) -> Any:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict | list):
            keys = list(each) if isinstance(each, dict) else list(range(len(each)))
            for key in keys:
                yield each, key
                todo.append(each[key])


def _replace(holder: Any, key: Any, _donors: Sequence[Any], pick: Pick) -> None:
    holder[key] = copy.deepcopy(pick.choice(VALUES))


def _remove(holder: Any, key: Any, _donors: Sequence[Any], _pick: Pick) -> None:
    del holder[key]


def _add(holder: Any, key: Any, donors: Sequence[Any], pick: Pick) -> None:
    value = copy.deepcopy(pick.choice((pick.choice(VALUES), _part(donors, pick), holder[key])))
    if isinstance(holder, dict):
        holder[pick.choice(KEYS)] = value
    else:
        holder.insert(key, value)


def _splice(holder: Any, key: Any, donors: Sequence[Any], pick: Pick) -> None:
    holder[key] = copy.deepcopy(_part(donors, pick))


def _rename(holder: Any, key: Any, _donors: Sequence[Any], pick: Pick) -> None:
    if isinstance(holder, dict):
        holder[pick.choice(KEYS)] = holder.pop(key)


def _wrap(holder: Any, key: Any, _donors: Sequence[Any], pick: Pick) -> None:
    for _ in range(pick.choice((1, 1, 1, 3, 30, 180))):
        holder[key] = pick.choice(([holder[key]], {pick.choice(KEYS): holder[key]}))


def _repeat(holder: Any, key: Any, _donors: Sequence[Any], pick: Pick) -> None:
    many = pick.choice((2, 3, 10, 100, 1_000))
    if isinstance(holder[key], list):
        holder[key] = [copy.deepcopy(each) for each in holder[key][:1]] * many
    elif isinstance(holder[key], str) and len(holder[key]) < 100:
        holder[key] *= many
    elif isinstance(holder, list) and len(json.dumps(holder[key], default=str)) < 2_000:
        holder.extend([holder[key]] * min(many, 100))


def _insert(holder: Any, key: Any, _donors: Sequence[Any], pick: Pick) -> None:
    value = holder[key]
    if isinstance(value, str):
        part = pick.choice(VALUES)
        at = pick.randint(0, len(value))
        holder[key] = value[:at] + (part if isinstance(part, str) else str(part)) + value[at:]
    elif isinstance(value, int | float):
        holder[key] = pick.choice((-value, value * 10**18, f"{value!r:.300}"))


def _part(donors: Sequence[Any], pick: Pick) -> Any:
    places = [place for donor in donors for place in _places(donor)]
    if not places:
        return pick.choice(VALUES)
    holder, key = pick.choice(places)
    return holder[key]


_CHANGES: Final[Sequence[Callable[[Any, Any, Sequence[Any], Pick], None]]] = (
    _replace, _replace, _replace, _insert, _insert, _remove, _add, _splice, _rename, _wrap, _repeat,
)  # fmt: skip


def _text_changed(text: str, pick: Pick) -> str:
    lines = text.split("\n")
    at = pick.randrange(len(lines))
    line = lines[at]
    column = pick.randint(0, len(line))
    lines[at : at + 1] = pick.choice(
        (
            [line[:column] + pick.choice(_TEXTS) + line[column:]],
            [line[:column]],
            [],
            [line, line],
            [" " + line],
            [line.lstrip()],
            [
                line[:column]
                + chr(pick.choice((pick.randrange(0xD800), 0x1F600)))
                + line[column + 1 :]
            ],
        )
    )
    made = "\n".join(lines)
    return made[: pick.randint(0, len(made))] if pick.random() < 0.1 else made
