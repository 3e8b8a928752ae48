"""CEL functions that Kyverno has and an API server lacks, by their calls in a policy's text.

A chart needs no meaning here, only names; tests hold the table to the functions of both. Source:
Kyverno 1.19, `pkg/cel/policies/vpol/compiler`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from chartkit.kyverno.cel_literals import Token, tokens
from chartkit.model import Body, Json

_ALONE: Final = ""
CALLS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        root: frozenset(names.split())
        for root, names in {
            _ALONE: "image isImage listObjToMap md5 parseImageReference parseServiceAccount random"
            " sha1 sha256",
            "base64": "decode encode",
            "exceptions": "allowedImages allowedValues",
            "globalContext": "Get get",
            "gzip": "compress decompress",
            "hash": "md5 sha1 sha256",
            "http": "Client Get Post client get post",
            "image": "GetMetadata getMetadata",
            "json": "encode marshal unmarshal",
            "math": "abs bitAnd bitNot bitOr bitShiftLeft bitShiftRight bitXor ceil floor greatest"
            " isFinite isInf isNaN least round sign sqrt trunc",
            "random": "random",
            "regex": "extract extractAll replace",
            "resource": "Get List Post ToGVR get list post toGVR",
            "time": "now toCron truncate",
            "transform": "listObjToMap",
            "user": "parseServiceAccount",
            "x509": "decode",
            "yaml": "parse",
        }.items()
    }
)
"""Names by what stands before their dot; those of functions without one by an empty text."""
_EXPRESSIONS: Final = frozenset(("expression", "messageExpression", "valueExpression"))


def kyverno_call(policy: Body) -> str | None:
    """The first call of a policy in CEL that only Kyverno answers (`resource.List`), or None."""
    for text in _texts(policy.get("spec")):
        pieces = tokens(text)
        for at in range(len(pieces)):
            found = _called(pieces, at)
            if found:
                return found
    return None


def _called(pieces: Sequence[Token], at: int) -> str | None:
    words = [token.text for token in pieces[at : at + 3]]
    if at and pieces[at - 1].text == ".":
        return None
    if words[1:2] == ["("] and words[0] in CALLS[_ALONE]:
        return words[0]
    if words[1:2] == ["."] and words[2:] and words[2] in CALLS.get(words[0], ()):
        return f"{words[0]}.{words[2]}"
    return None


def _texts(node: Json) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key in _EXPRESSIONS and isinstance(value, str):
                yield value
            else:
                yield from _texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from _texts(value)
