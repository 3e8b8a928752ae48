"""Both forms of a policy in one template, behind the chart's switch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.migrate.assembly import API_VERSION
from chartkit.addons.migrate.charts.code import TemplateCode
from chartkit.addons.migrate.charts.marks import MARK, PolicyTemplate
from chartkit.addons.migrate.charts.served import Served, served
from chartkit.addons.migrate.charts.template import (
    BLOCKS,
    DOCUMENT,
    SPACE,
    Block,
    Node,
    NotPlacedError,
    Region,
    actions,
    parse,
    parsed,
    regions,
    show,
    value_path,
)
from chartkit.addons.migrate.charts.variants import VALIDATING, Variants
from chartkit.addons.migrate.charts.writing import Writer
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.policies import EXCEPTION
from chartkit.helm.syntax import Call, Literal, terms
from chartkit.model import Body, Resource

SWITCH: Final = "policyType"
NUMBER: Final = "chartkitnumber"
_MARKS: Final = re.compile(r"ck-mark\d|707\d{4}70707|chartkit(?:exclude|list|controllers|name)")
_METADATA: Final = re.compile(
    r"^(?:metadata[ \t]*:[ \t]*$|\{\{-?[ \t]*include [^\n]*\}\}\s*\Z)", re.MULTILINE
)
_NAME: Final = re.compile(r"^(  name:[ \t]*)(.*?)([\"']?)[ \t]*$", re.MULTILINE)
_NAMESPACE: Final = re.compile(r"^  namespace:.*\n?", re.MULTILINE)
_AUTOGEN: Final = re.compile(
    r"(?:^[ \t]*\{\{-? *(?:with|if)[ \t][^\n]*\}\}\n(?=[^\n]*\n[ \t]*\{\{-? *end *-?\}\}))?"
    rf"^[ \t]*{re.escape(autogen.ANNOTATION)}:[^\n]*\n(?:[ \t]*\{{\{{-? *end *-?\}}\}}\n)?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class NewForm:
    """A policy's new form in its template.

    region: the old form; text: the new one, by condition; helpers: whether it uses the chart's
    helpers; refused: what values may not ask for, a sentence each; is_each: whether each rule has a
    policy of its own; decisive: the paths of the values that decide its conditions, with whether
    these are lists; served: the condition on the API of kyverno.io around it.
    """

    region: Region
    parts: Mapping[str, str]
    uses_helpers: bool
    refused: Sequence[str] = ()
    is_each: bool = False
    decisive: Mapping[tuple[str, ...], bool] = field(default_factory=dict)
    served: Served | None = None


@dataclass(frozen=True, slots=True)
class LeftPolicy:
    """A policy that stays as it is: the line of its template, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class NamedTemplates:
    """The named templates of a chart; policies: the texts of those that print a whole policy;
    prefix: the beginning of the names of new ones; values: the chart's own; legacy: its exceptions
    and policies, where it has exceptions."""

    nodes: Mapping[str, Sequence[Node]]
    policies: Mapping[str, str]
    prefix: str
    values: Body
    legacy: Sequence[Resource] = ()


def named_templates(texts: Sequence[str], prefix: str, values: Body) -> NamedTemplates:
    """Return the named templates that texts define; one that is not read is left out."""
    nodes: dict[str, Sequence[Node]] = {}
    policies: dict[str, str] = {}
    for text in texts:
        for definition in re.split(r"(?=\{\{-?\s*define\b)", text):
            if _MARKS.search(definition):
                continue
            try:
                parsed = parse(definition)
            except NotPlacedError:
                continue
            for node in parsed:
                if isinstance(node, Block) and isinstance(node.value, Literal):
                    nodes[node.value.value] = node.body
                    body = _body(definition)
                    if DOCUMENT.search(body):
                        policies[node.value.value] = body
    return NamedTemplates(nodes, policies, prefix, values)


def _body(definition: str) -> str:
    """Return the text of a named template between its `define` and `end`."""
    read = list(actions(definition))
    depth, last = 0, read[0]
    for last in read:
        depth += (last.keyword in BLOCKS) - (last.keyword == "end")
        if not depth and last.keyword == "end":
            break
    return definition[read[0].end : last.start].strip(SPACE)


def new_forms(text: str, named: NamedTemplates) -> list[NewForm | LeftPolicy]:
    """Return the policies of a template, each with its new form or the reason why there is none."""
    if _MARKS.search(text):
        return [LeftPolicy(1, "holds a text that marks values in the conversion")]
    try:
        placed = regions(text, named.policies)
    except NotPlacedError as error:
        return [LeftPolicy(error.line, error.message)]
    forms: list[NewForm | LeftPolicy] = []
    for region in placed:
        try:
            api = served(text, region, named.nodes)
            form = _new_form(region, named)
            forms.append(replace(form, served=api))
        except NotPlacedError as error:
            is_here = region.text == text[region.start : region.end]
            line = error.line if is_here and error.line else region.line
            where = "" if is_here else ", in the named template that it includes"
            forms.append(LeftPolicy(line, f"{error.message}{where}"))
    return forms


def _new_form(region: Region, named: NamedTemplates, is_apart: bool = False) -> NewForm:
    """Return a policy's new form; is_apart: whether each rule has a policy of its own."""
    before, nodes = _parsed_parts(region)
    template = PolicyTemplate(nodes, named.nodes, region.variables, named.values)
    template.is_apart, template.legacy = is_apart, named.legacy
    switch = f"{region.root}.Values.{SWITCH}"
    variants = Variants(template, region.line, f'eq {switch} "both"')
    variants.explore()
    writer = Writer(variants)
    parts: dict[str, list[str]] = {}
    documents = writer.ways.documents()
    if variants.is_divided and not is_apart and region.kind != EXCEPTION:
        with suppress(NotPlacedError):
            return _new_form(region, named, is_apart=True)
    for document in documents:
        kind, _, end = document.partition("/")
        is_doubled = kind.removeprefix("Namespaced") in (VALIDATING, EXCEPTION)
        condition = f'ne {switch} "ClusterPolicy"' if is_doubled else f'eq {switch} "{VALIDATING}"'
        head = ["---", f"apiVersion: {API_VERSION}", f"kind: {kind}"]
        loop = variants.list_of(end)
        writer.code.looping += [loop] * bool(loop)
        for match in MARK.finditer(end):
            variants.refuse(writer.code.mark(match), "[^-a-z0-9.]", "what no name of an object has")
        head += _metadata(before, kind, MARK.sub(writer.code.printed, end), region.prefix)
        if loop:
            head = writer.code.inside("\n".join(head)).split("\n")
        lines: list[str] = []
        for only, spec in writer.document(document):
            lines += [f"{{{{- {'else ' * bool(lines)}if {only} }}}}"] * bool(only) + head + spec
        lines += ["{{- end }}"] * lines[0].startswith("{{")
        writer.code.looping.clear()
        if loop:
            lines = writer.looped(lines, loop, "")
        parts.setdefault(condition, []).extend(lines)
    guards = _guards(writer.code)
    settings = [f"{{{{- {name} := {code} }}}}" for name, code in writer.code.variables.items()]
    helper, own = 'include "CHART.', f'include "{named.prefix}.'
    texts = {key: "\n".join([*settings, *guards, *lines]) for key, lines in parts.items()}
    return NewForm(
        region,
        {key: text.replace(helper, own) for key, text in texts.items()},
        any(helper in text for text in texts.values()),
        list(variants.guards.values()),
        is_apart or any(map(variants.list_of, documents)),
        {
            tuple(path): variants.is_list(code)
            for code in template.decisions
            for term in terms(parsed(code))
            if not isinstance(region.variables.get(show(term), term), Literal)
            if (path := value_path(term, region.variables))
        },
    )


def _parsed_parts(region: Region) -> tuple[str, list[Node]]:
    """Return the text of a policy's metadata, and the nodes of what decides its new form."""
    text = region.text
    begin = re.search(r"^spec[ \t]*:[ \t]*$", text, re.MULTILINE)
    metadata = _METADATA.search(text, 0, begin.start() if begin else 0)
    if begin is None or metadata is None:
        message = "metadata and spec are not blocks: write each of their keys on a line"
        raise NotPlacedError(message, region.line)
    before = text[metadata.start() : begin.start()]
    line = region.line + text.count("\n", 0, begin.start())
    if region.prefix:
        closing = "{{- end }}" * region.prefix.startswith("{{- with ")
        whole = f"{_head(before, region)}{text[begin.start() :]}{closing}"
        nodes = parse(f"{region.prefix}\n{whole}", region.line)
    else:
        nodes = [*parse(_head(before, region), region.line), *parse(text[begin.start() :], line)]
    return before, nodes


def _head(metadata: str, region: Region) -> str:
    """Return the part of a policy's metadata that its conversion depends on."""
    name, namespace, chosen = (
        pattern.search(metadata) for pattern in (_NAME, _NAMESPACE, _AUTOGEN)
    )
    if metadata.startswith("{{"):
        return f"{region.version}\nkind: {region.kind}\n{metadata.rstrip()}\n"
    if name is None:
        raise NotPlacedError("metadata.name must have a line of its own", region.line)
    lines = [region.version, f"kind: {region.kind}\nmetadata:", name[0].rstrip()]
    lines += [namespace[0].rstrip()] if namespace else []
    lines += [f"  annotations:\n{chosen[0]}"] if chosen else []
    return "\n".join([*lines, ""])


def _metadata(text: str, kind: str, end: str, prefix: str) -> list[str]:
    """Return a new policy's metadata, with another end of its name, as the template writes it;
    prefix: the actions before it in a named template."""
    text = _AUTOGEN.sub("", text, count=1)
    if not kind.startswith("Namespaced") and kind != EXCEPTION:
        text = _NAMESPACE.sub("", text)
    text = re.sub(r"^  annotations:[ \t]*\n(?!    )", "", text, flags=re.MULTILINE)
    if end and not _NAME.search(text):
        raise NotPlacedError("the policy becomes several, and a named template has its metadata")
    if end:
        text = _NAME.sub(lambda name: f"{name[1]}{name[2]}{end}{name[3]}", text, count=1)
    lines = text.rstrip().split("\n")
    for line in reversed(prefix.split("\n") if prefix else ()):
        name = re.match(r"\{\{-? *(?:with\b|(\$\w+) *:=)", line)
        if name and (not name[1] or any(re.search(rf"\{name[1]}\b", part) for part in lines)):
            lines.insert(0, line.replace("-}}", "}}"))
    if prefix.startswith("{{- with "):
        opening, *inside = lines
        lines = [_with_asked(opening, inside), *inside, "{{- end }}"]
    return lines


def _with_asked(opening: str, inside: Sequence[str]) -> str:
    """Return the action that opens `with dict …`, without the keys that lines do not ask for."""
    value = next(actions(opening)).value
    if not isinstance(value, Call) or value.name != "dict":
        return opening
    pairs = zip(value.arguments[::2], value.arguments[1::2], strict=False)
    kept = [
        part
        for pair in pairs
        if any(re.search(rf"\.{getattr(pair[0], 'value', '')}\b", line) for line in inside)
        for part in pair
    ]
    return f"{{{{- with {show(Call('dict', tuple(kept)))} }}}}" if kept else opening


def _guards(code: TemplateCode) -> list[str]:
    """Return the lines that stop Helm where values ask for what the new form does not have."""
    lines = []
    for condition, reason in code.variants.guards.items():
        message = json.dumps(f"{reason} ({SWITCH})", ensure_ascii=False)
        loops = [code.variants.looped[condition]] if condition in code.variants.looped else []
        opening = [f"{{{{- {code.opening(name)} }}}}" for name in loops]
        code.looping += loops
        lines += [*opening, f"{{{{- if {code.at(condition)} }}}}", f"{{{{- fail {message} }}}}"]
        code.looping.clear()
        lines += ["{{- end }}"] * (1 + len(loops))
    return lines


def with_forms(text: str, forms: Sequence[NewForm], numbers: Mapping[int, int]) -> str:
    """Return a template with both forms of its policies; numbers: those that old ones have in a
    field, for the proof, by the identity of their form."""
    edits: dict[tuple[int, int], str] = {}
    for form in forms:
        region, api = form.region, form.served
        switch = f"{region.root}.Values.{SWITCH}"
        lines = [_opening(f'ne {switch} "{VALIDATING}"', api.old if api else "")]
        lines += [f"{NUMBER}: {numbers[id(form)]}"] if id(form) in numbers else []
        # An include keeps the line before it.
        lines += [re.sub(r"\A\{\{-", "{{", text[region.start : region.end]), "{{- end }}"]
        for condition, part in form.parts.items():
            lines += [_opening(condition, api.new if api else ""), part, "{{- end }}"]
        edits[region.start, region.end] = "\n".join(lines)
        if api is not None:
            edits[api.start, api.end] = api.either
    for (start, end), edit in sorted(edits.items(), reverse=True):
        text = text[:start] + edit + text[end:]
    return text


def _opening(condition: str, api: str) -> str:
    return f"{{{{- if and ({condition}) ({api}) }}}}" if api else f"{{{{- if {condition} }}}}"
