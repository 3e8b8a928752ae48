"""Makes `pod_types.json` of `cluster_policy/podsecurity/` from the Go types of Kubernetes' API.

    python tools/pod_types.py K8S.IO/API K8S.IO/APIMACHINERY > …/pod_types.json

The folders are those two Go modules as they were released. Kept is every type below Pod,
Deployment and CronJob: the objects that Kyverno 1.19 decodes for a podSecurity rule. A field's
entry is its type, after the names of the types that are embedded on the way to it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Final

VERSION: Final = "0.36.3"
ROOTS: Final = ("core/v1.Pod", "apps/v1.Deployment", "batch/v1.CronJob")

_PACKAGES: Final = ("core", "apps", "batch")
_META: Final = "meta/v1"
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED: Final = re.compile(r"^type (\w+) ([\w.\[\]]+)(?:\s*//.*)?$", re.MULTILINE)
_FIELD: Final = re.compile(r'^\t(?:(\w+)\s+)?([*\[\]\w.]+)\s+`json:"([^"]*)"', re.MULTILINE)
_OUTER: Final = re.compile(r"^(\[\]|map\[string\]|[^=]+=)+")
_BLOCKS: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_LINES: Final = re.compile(r"^\s*//.*$", re.MULTILINE)
_READ_BY_THEMSELVES: Final = {
    "resource.Quantity": "Quantity",
    "intstr.IntOrString": "IntOrString",
    f"{_META}.Time": "Time",
    f"{_META}.FieldsV1": "Raw",
}
_ALIASES: Final = {"metav1": _META, "v1": "core/v1", "corev1": "core/v1", "types": "types"}

Fields = list[tuple[str, str, str]]


class Source:
    """The types of some packages: structs with their fields, and names for other types."""

    def __init__(self) -> None:
        self.structs: dict[str, Fields] = {}
        self.names: dict[str, str] = {}

    def add(self, package: str, text: str) -> None:
        """Takes the types of a file of Go source."""
        text = _LINES.sub("", _BLOCKS.sub("", text))
        for name, body in _STRUCT.findall(text):
            self.structs[f"{package}.{name}"] = _FIELD.findall(body)
        for name, target in _NAMED.findall(text):
            self.names[f"{package}.{name}"] = target

    def fields(self, struct: str, embedded: tuple[str, ...] = ()) -> dict[str, str]:
        """The fields of a struct by their JSON name, with those of the structs it embeds."""
        package = struct.partition(".")[0]
        found: dict[str, str] = {}
        for name, kind, tag in self.structs[struct]:
            key = tag.partition(",")[0]
            kind = kind.replace("*", "")
            if not key and not name:
                inner = self.qualified(kind, package)
                found |= self.fields(inner, (*embedded, inner.rpartition(".")[2]))
            elif key and key != "-":
                found[key] = " ".join((*embedded, self.entry(kind, package)))
        return found

    def qualified(self, kind: str, package: str) -> str:
        """A type's name with its package."""
        prefix, dot, name = kind.rpartition(".")
        if not dot:
            return f"{package}.{kind}"
        return f"{_ALIASES.get(prefix, prefix)}.{name}"

    def entry(self, kind: str, package: str) -> str:
        """A type as the table has it: `[]T`, `map[string]T`, a struct, a scalar; `name=T`."""
        if kind.startswith("[]"):
            return f"[]{self.entry(kind.removeprefix('[]'), package)}"
        if kind.startswith("map["):
            return f"map[string]{self.entry(kind.partition(']')[2], package)}"
        if "." not in kind and kind[0].islower():
            return kind
        full = self.qualified(kind, package)
        if full in _READ_BY_THEMSELVES:
            return _READ_BY_THEMSELVES[full]
        if full in self.structs:
            return full
        return f"{_shown(full)}={self.entry(self.names[full], full.partition('.')[0])}"


def _shown(full: str) -> str:
    package, _, name = full.rpartition(".")
    return f"{package.rpartition('/')[2]}.{name}"


def reachable(source: Source) -> dict[str, dict[str, str]]:
    """The tables of the roots and of all that they hold."""
    found: dict[str, dict[str, str]] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = source.fields(name)
        for entry in found[name].values():
            kind = _OUTER.sub("", entry.split()[-1])
            if kind in source.structs:
                waiting.append(kind)
    return dict(sorted(found.items()))


def main(api: str, machinery: str) -> None:
    """Writes the table to standard output, one type a line."""
    source = Source()
    for package in _PACKAGES:
        text = Path(api, package, "v1", "types.go").read_text("utf-8")
        source.add(f"{package}/v1", text)
    text = Path(machinery, "pkg/apis/meta/v1/types.go").read_text("utf-8")
    source.add(_META, text)
    source.add("types", "type UID string\ntype NodeName string\n")
    lines = [
        f"{json.dumps(name)}: {json.dumps(fields, separators=(',', ':'))}"
        for name, fields in reachable(source).items()
    ]
    head = f'{{\n"source": "k8s.io/api and k8s.io/apimachinery {VERSION}",\n"types": {{\n'
    sys.stdout.write(head + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
