"""Values as YAML that Kubernetes reads back unchanged, and two objects compared as such lines."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any, Final

import yaml

from chartkit.documents.json_text import without_surrogates
from chartkit.documents.yaml_builder import resolve_plain
from chartkit.model import Body, FieldPath, Json
from chartkit.safe_text import escape_controls, without_commands

_TEXT_TAG = "tag:yaml.org,2002:str"
_LINE: Final = r" -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
_ONE_LINE: Final = re.compile(f"[{_LINE}]*")
_BLOCK: Final = re.compile(f"(?=[^ \n])[{_LINE}\n]*(?<! )")
_MARK: Final = re.compile(r"(?<=#)#(?=\w*\[)")
"""The second character of a command in logs (`##[`), which stands between double quotes alone."""
_NAME: Final = re.compile(r"(?:/|[A-Za-z][\w-]*[./[])(?:[\w./[\]-]|:(?=[0-9]))*", re.ASCII)
"""A path, a place (`app.yaml:3:5`) or a field (`spec.replicas`), which is a text as it stands."""
_NOT_PLAIN: Final = re.compile(
    r"""[-?](?: |$)|[ #,\[\]{}&*!|>'"%@`]|---|\.\.\.|.*(?: #|: |[: ]$)"""
)
LIST_KEYS: Final = ("name", "containerPort", "key", "mountPath")
"""The keys that identify an item in a list of objects, the preferred one first."""
Comments = Callable[[FieldPath], str]
"""The comment above the key or list item at a path; empty for none."""
_WIDTH = 98
_INDENT = "  "


class _KubernetesDumper(yaml.CSafeDumper):
    """A dumper that quotes text which Kubernetes would read as another type (`y`, `08`, `1e3`)."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _does_something(text: str) -> bool:
    """Report whether a text has characters that outputs escape, or a line that is a command. Such a
    text is double-quoted, which keeps its value and escapes its line breaks."""
    return escape_controls(text) != text or without_commands(text) != text


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    if _does_something(text):
        return dumper.represent_scalar(_TEXT_TAG, without_surrogates(text), style='"')
    if "\n" in text:
        return dumper.represent_scalar(_TEXT_TAG, text, style="|")
    if not isinstance(resolve_plain(text), str) or text == "<<":
        return dumper.represent_scalar(_TEXT_TAG, text, style="'")
    return dumper.represent_scalar(_TEXT_TAG, text)


class BlockText(str):
    """A text of one line that is written as a block (`|-`), as people write code."""

    __slots__ = ()


def _represent_block(dumper: yaml.CSafeDumper, text: BlockText) -> yaml.ScalarNode:
    if _does_something(text):
        return _represent_text(dumper, str(text))
    return dumper.represent_scalar(_TEXT_TAG, str(text), style="|")


_KubernetesDumper.add_representer(str, _represent_text)
_KubernetesDumper.add_representer(BlockText, _represent_block)
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


def dump_text(text: str, indent: int = 0) -> str:
    """Return the text after `key: ` for a string value, as `dump_yaml` writes it. indent: the
    column of the key."""
    if _NAME.fullmatch(text):
        return text
    is_quoted = _does_something(text)
    if not is_quoted and _ONE_LINE.fullmatch(text):
        if _NOT_PLAIN.match(text) or text == "<<" or not isinstance(resolve_plain(text), str):
            is_plain = False
        else:
            resolvers = yaml.CSafeDumper.yaml_implicit_resolvers.get(text[0], ())
            is_plain = not any(pattern.match(text) for _, pattern in resolvers)
        return text if is_plain else "'" + text.replace("'", "''") + "'"
    if not is_quoted and _BLOCK.fullmatch(text) and " \n" not in text:
        kept = text.rstrip("\n")
        ends = len(text) - len(kept)
        chomping = "-" if not ends else "+" if ends > 1 else ""
        width = indent + 2
        indented = "\n".join(" " * width + line if line else "" for line in kept.split("\n"))
        return f"|{chomping}\n{indented}" + "\n" * (ends - 1)
    written = dump_yaml({"": text, "end": 0}).removeprefix("'': ").partition("\nend: 0\n")[0]
    return written.replace("\n  ", "\n  " + " " * indent)


def dump_yaml(document: Json, flow_leaves: bool = False) -> str:
    """Return one document with its keys in order, ending with a newline."""
    return dump_documents([document], flow_leaves)


def dump_documents(documents: Iterable[Json], flow_leaves: bool = False) -> str:
    """Return documents separated by `---`, with their keys in order. flow_leaves: write lists and
    mappings of scalars on one line (`[a, b]`)."""
    text: str = yaml.dump_all(
        documents,
        Dumper=_KubernetesDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None if flow_leaves else False,
        width=2**31 - 1,
    )
    return _MARK.sub(r"\\x23", text) if "##" in text else text


def yaml_diff(before: Body, after: Body, before_name: str, after_name: str) -> list[str]:
    """Return the lines of a unified diff, which ignores the order of keys; empty if none differ."""
    old, new = (dump_documents([body]).splitlines() for body in (before, in_order(after, before)))
    return list(difflib.unified_diff(old, new, before_name, after_name, lineterm=""))


def in_order(value: Json, model: Json) -> Json:
    """Return a value with its keys in the order of a model; those that it lacks come last."""
    if isinstance(value, dict) and isinstance(model, dict):
        keys = [key for key in model if key in value] + [key for key in value if key not in model]
        return {key: in_order(value[key], model.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(model, list):
        named = {_name(item): item for item in model if _name(item)}
        pairs = zip_longest(value, model[: len(value)])
        return [in_order(item, named.get(_name(item), other)) for item, other in pairs]
    return value


def _name(item: Json) -> str:
    """Return the text that identifies an item in a list of objects; empty if none does."""
    if isinstance(item, dict):
        for key in LIST_KEYS:
            if key in item:
                return f"{key}={item[key]}"
    return ""


def commented(body: Body, comments: Comments) -> str:
    """A mapping as YAML, keys in their order; top-level keys are set apart by empty lines."""
    parts = ["\n".join(_entry(key, value, comments, (key,), 0)) for key, value in body.items()]
    return "\n\n".join(parts) + "\n" if parts else ""


def comment(text: str, level: int = 0) -> str:
    """A text as comment lines, at a level of indentation."""
    mark = _INDENT * level + "# "
    lines = text.splitlines()
    return "\n".join(
        textwrap.fill(line, _WIDTH, initial_indent=mark, subsequent_indent=mark)
        for line in lines
        if line
    )


def _entry(key: str, value: Json, comments: Comments, path: FieldPath, level: int) -> Iterator[str]:
    text = comments(path)
    if text:
        yield comment(text, level)
    name = _INDENT * level + dump_yaml({key: None}).removesuffix(" null\n")
    if isinstance(value, dict) and value:
        if level and len(value) == 1 and not isinstance(next(iter(value.values())), dict | list):
            yield _on_one_line(key, value, level)
            return
        yield name
        for inner, item in value.items():
            yield from _entry(inner, item, comments, (*path, inner), level + 1)
    elif isinstance(value, list) and value:
        line = _on_one_line(key, value, level)
        is_commented = any(comments((*path, index)) for index in range(len(value)))
        if not is_commented and "\n" not in line and len(line) <= _WIDTH:
            yield line
            return
        yield name
        for index, item in enumerate(value):
            item_level = level + 1
            text = comments((*path, index))
            if text:
                yield comment(text, item_level)
            yield _indented(dump_yaml([item]), item_level)
    else:
        yield _indented(dump_yaml({key: value}), level)


def _on_one_line(key: str, value: Json, level: int) -> str:
    return _indented(dump_yaml({key: value}, flow_leaves=True), level)


def _indented(text: str, level: int) -> str:
    return textwrap.indent(text.rstrip("\n"), _INDENT * level)
