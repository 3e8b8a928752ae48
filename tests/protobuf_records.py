"""Secrets and ConfigMaps as Helm's client sends them: protobuf in Kubernetes' envelope."""

import base64
from collections.abc import Iterator

from chartkit.model import Body

MAGIC = b"k8s\x00"
_TEXTS = {1: "name", 3: "namespace", 6: "resourceVersion"}


def read_record(content: bytes) -> Body | None:
    """The Secret or ConfigMap in a request's content, None for anything else, such as options."""
    envelope = dict(_fields(content.removeprefix(MAGIC)))
    kind = dict(_fields(envelope[1])).get(2, b"").decode()
    if kind not in ("Secret", "ConfigMap"):
        return None
    data: Body = {}
    metadata: Body = {}
    body: Body = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}
    for number, value in _fields(envelope[2]):
        if number == 1:
            metadata.update(_metadata(value))
        elif number == 2:
            pair = dict(_fields(value))
            value = base64.b64encode(pair[2]) if kind == "Secret" else pair[2]
            data[pair[1].decode()] = value.decode()
        elif number == 3:
            body["type"] = value.decode()
    return body


def _metadata(content: bytes) -> Body:
    found: Body = {}
    labels = {}
    for number, value in _fields(content):
        if number in _TEXTS and value:
            found[_TEXTS[number]] = value.decode()
        elif number == 11:
            pair = dict(_fields(value))
            labels[pair[1].decode()] = pair[2].decode()
    return {**found, "labels": labels}


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Fields of a message by number; numbers (wire type 0) are left out."""
    at = 0
    while at < len(content):
        key, at = _number(content, at)
        value, at = _number(content, at)
        if key & 7 == 2:
            yield key >> 3, content[at : at + value]
            at += value


def _number(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
