"""Writes values as YAML that Kubernetes reads back as they were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from chartkit.model import Json
from chartkit.yaml_builder import resolve_plain

_TEXT_TAG = "tag:yaml.org,2002:str"


class _KubernetesDumper(yaml.CSafeDumper):
    """Quotes what Kubernetes would read as something else than text (`y`, `08`, `1e3`)."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    if "\n" in text:
        return dumper.represent_scalar(_TEXT_TAG, text, style="|")
    if not isinstance(resolve_plain(text), str) or text == "<<":
        return dumper.represent_scalar(_TEXT_TAG, text, style="'")
    return dumper.represent_scalar(_TEXT_TAG, text)


_KubernetesDumper.add_representer(str, _represent_text)
# The engine marks numbers by classes of their own; what they are remains a number.
_KubernetesDumper.add_multi_representer(
    str, lambda dumper, text: _represent_text(dumper, str(text))
)
_KubernetesDumper.add_multi_representer(
    int, lambda dumper, number: dumper.represent_int(int(number))
)
_KubernetesDumper.add_multi_representer(
    float, lambda dumper, number: dumper.represent_float(float(number))
)
_KubernetesDumper.add_multi_representer(dict, yaml.CSafeDumper.represent_dict)
_KubernetesDumper.add_multi_representer(list, yaml.CSafeDumper.represent_list)


def dump_yaml(document: Json) -> str:
    """One document, keys in their order, ending with a newline."""
    return dump_documents([document])


def dump_documents(documents: Iterable[Json]) -> str:
    """Documents with `---` between them, keys in their order."""
    text: str = yaml.dump_all(
        documents,
        Dumper=_KubernetesDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=2**31 - 1,
    )
    return text
