"""Templates of charts as trees of text and actions, and the policies of kyverno.io in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP
from chartkit.errors import ChartkitError
from chartkit.helm.syntax import CLOSE, OPEN, Action, Call, Inner, Literal, Path, Term, read_action

DOCUMENT: Final = re.compile(
    r"(?:^kind[ \t]*:[^\n]*\n)?^apiVersion[ \t]*:[ \t]*"
    rf"(?:(?P<version>[\"']?{re.escape(KYVERNO_GROUP)}/\S+)[ \t]*(?:#.*)?$"
    r"|\{\{.*$(?=\n(?:#.*\n)*kind[ \t]*:[ \t]*[\"']?Cluster(?:Cleanup)?Policy\b))",
    re.MULTILINE,
)
"""The begin of a policy; version: unless Helm code gives it."""
_KIND: Final = re.compile(
    r"^kind *: *[\"']?((?:Cluster)?(?:Cleanup)?Policy|PolicyException)[\"']? *(?:#.*)?$",
    re.MULTILINE,
)
_ROOT: Final = re.compile(r"(?<![\w$])\$(?!\w)")
_END: Final = re.compile(r"^---", re.MULTILINE)
_TEMPLATE: Final = re.compile(r"(\{\{(?:-[ \t\r\n])?[ \t\r\n]*)template(?=[ \t])")
BLOCKS: Final = frozenset({"if", "with", "range", "define", "block"})
_REBINDING: Final = frozenset({"with", "range", "define", "block"})
_WHOLE: Final = re.compile(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?:\.\w+)*")
_KEEPING: Final = frozenset(
    (
        *("default", "int", "join", "lower", "printf", "quote", "replace", "required", "split"),
        *("splitList", "title", "toString", "tpl", "trimPrefix", "trimSuffix"),
    )
)
"""Functions whose result is that of one value, in other words."""
SPACE: Final = " \t\r\n"


class NotPlacedError(ChartkitError):
    """A part of a template that the new form has no place for; line: in the template."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Text:
    """A text between actions, without the white space that these take away."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """An action that prints a value."""

    value: Term
    line: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """An action that sets a variable; is_new: whether it declares it."""

    name: str
    value: Term
    is_new: bool


@dataclass(slots=True)
class Block:
    """`if`, `with`, `range` or `define`, with what stands inside, and in its `else`."""

    keyword: str
    value: Term
    declares: tuple[str, ...]
    line: int
    body: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


Node: TypeAlias = Text | Output | Assignment | Block


def parse(text: str, first_line: int = 1) -> list[Node]:
    """Return a text's nodes; raise NotPlacedError for actions that are not Helm code for chartkit.

    first_line: the number of the text's first line.
    """
    root: list[Node] = []
    stack: list[tuple[Block, list[Node]]] = []
    inside, position, trims = root, 0, False
    for action in actions(text, first_line):
        before = text[position : action.start]
        left = text[action.start + len(OPEN) :][:2] in tuple(f"-{space}" for space in SPACE)
        inside.extend(_text(before, trims, left))
        position, trims = action.end, text[: action.end].endswith(f"-{CLOSE}")
        line = first_line + text.count("\n", 0, action.start)
        if action.keyword in BLOCKS:
            if action.value is None:
                raise NotPlacedError(f"{action.keyword} without a value", line)
            block = Block(action.keyword, action.value, action.declares, line)
            inside.append(block)
            stack.append((block, inside))
            inside = block.body
        elif action.keyword.startswith("else") and stack:
            block = stack[-1][0]
            inside = block.otherwise
            if action.value is not None:
                # `else if`: a block in the else of the one before, and closed with it.
                chained = Block(action.keyword[5:], action.value, action.declares, line)
                inside.append(chained)
                stack[-1] = (chained, stack[-1][1])
                inside = chained.body
        elif action.keyword == "end" and stack:
            inside = stack.pop()[1]
        elif not action.keyword and action.value is not None:
            if action.declares:
                is_new = ":=" in text[action.start : action.end]
                inside.append(Assignment(action.declares[-1], action.value, is_new))
            else:
                inside.append(Output(action.value, line))
        elif action.keyword != "comment":
            raise NotPlacedError(f"{action.keyword} is not supported", line)
    inside.extend(_text(text[position:], trims, False))
    return root


def actions(text: str, first_line: int = 1) -> Iterator[Action]:
    """Yield the actions of a text; `template "a" b` is read as `include "a" b`."""
    text = _TEMPLATE.sub(r"\1include ", text)
    position = text.find(OPEN)
    while position >= 0:
        action = read_action(text, position)
        if action is None:
            line = first_line + text.count("\n", 0, position)
            raise NotPlacedError("this template action is not supported", line)
        yield action
        position = text.find(OPEN, action.end)


def _text(text: str, from_left: bool, from_right: bool) -> Iterator[Text]:
    if from_left:
        text = text.lstrip(SPACE)
    if from_right:
        text = text.rstrip(SPACE)
    if text:
        yield Text(text)


@dataclass(frozen=True, slots=True)
class Region:
    """A policy's document in a template.

    start, end: its place in the text; line: of its `apiVersion`; version: that line; kind: of the
    policy; root: `$` where `.` is not the chart's root, else empty; variables: those that are set
    before, and `.` where a block binds it; around: the actions that open the blocks around it, each
    with those of the branches before its own; text: of the policy, which a named template may have;
    prefix: the actions before it in that.
    """

    start: int
    end: int
    line: int
    version: str
    kind: str
    root: str
    variables: Mapping[str, Term]
    around: Sequence[Sequence[Action]] = ()
    text: str = ""
    prefix: str = ""


def regions(text: str, policies: Mapping[str, str]) -> list[Region]:
    """Return the policies of kyverno.io that a template holds, in order; raise NotPlacedError.

    policies: the texts of the named templates that print a whole one.
    """
    read = list(actions(text))
    listed = []
    for start, include in _places(text, read, policies):
        line = text.count("\n", 0, start) + 1
        around = _around(start, read)
        opening = [branches[0] for branches in around]
        if any("ValidatingPolicy" in text[block.start : block.end] for block in opening):
            continue  # behind a switch already
        keywords = {action.keyword for action in opening}
        root = "$" if keywords & _REBINDING else ""
        if keywords & {"define", "block"}:
            if any(text[start:].startswith(body.lstrip(SPACE)) for body in policies.values()):
                continue  # where it is included
            raise NotPlacedError("the policy is part of a named template", line)
        end = _end(text, start, read) if include is None else include.end
        whole, prefix = text[start:end], ""
        if include is not None:
            whole, prefix = _inlined(include, root, policies, line)
        document, kind = DOCUMENT.search(whole), _KIND.search(whole)
        if kind is None or document is None:
            raise NotPlacedError("the kind of the policy comes from values", line)
        prefix += whole[: document.start()].strip(SPACE)
        variables = _variables([action for action in read if action.end <= start], text)
        version = f"apiVersion: {document['version'] or f'{KYVERNO_GROUP}/v1'}"
        whole = whole[document.start() :]
        region = Region(start, end, line, version, kind[1], root, variables, around, whole, prefix)
        listed.append(region)
    return listed


def _places(
    text: str, read: Sequence[Action], policies: Mapping[str, str]
) -> list[tuple[int, Action | None]]:
    """Return where policies begin, with the action that includes one."""
    places: list[tuple[int, Action | None]] = [
        (match.start(), None)
        for match in DOCUMENT.finditer(text)
        if not any(action.start < match.start() < action.end for action in read)
    ]
    for action in read:
        match action.value:
            case Call("include", (Literal(name, True), _)) if name in policies:
                places += [(action.start, action)] * (not action.keyword and not action.declares)
    return sorted(places, key=lambda place: place[0])


def _inlined(include: Action, root: str, policies: Mapping[str, str], line: int) -> tuple[str, str]:
    """Return the text of a named template that an action includes, and the action that gives it the
    argument."""
    if not isinstance(include.value, Call):
        return "", ""
    name, argument = include.value.arguments
    text = policies[str(getattr(name, "value", ""))]
    while isinstance(argument, Inner) and not argument.fields:
        argument = argument.value
    code = show(argument)
    if code == "." or (code == "$" and not root):
        return text, ""
    if _ROOT.search(text):
        raise NotPlacedError(f"$ in {show(name)} is the argument of the include", line)
    return text, f"{OPEN}- with {code} {CLOSE}\n"


def _around(position: int, read: Sequence[Action]) -> list[list[Action]]:
    """Return the blocks around a position: the actions that open their branches, up to its own."""
    blocks: list[list[Action]] = []
    for action in read:
        if action.start >= position:
            break
        if action.keyword in BLOCKS:
            blocks.append([action])
        elif action.keyword.startswith("else") and blocks:
            blocks[-1].append(action)
        elif action.keyword == "end":
            blocks[-1:] = []
    return blocks


def _end(text: str, start: int, read: Sequence[Action]) -> int:
    """Return the end of a document: of its block, before the next one, or of the text."""
    depth, end = 0, len(text)
    for action in read:
        if action.start < start:
            continue
        if action.keyword in BLOCKS:
            depth += 1
        elif action.keyword == "end" or (action.keyword.startswith("else") and not depth):
            depth -= 1
        if depth < 0:
            end = action.start
            break
    marker = _END.search(text, start, end)
    end = marker.start() if marker else end
    return start + len(text[start:end].rstrip(SPACE))


def _variables(before: Sequence[Action], text: str) -> dict[str, Term]:
    """Return the variables that are set at the end of actions, without those that are set again."""
    scopes: list[dict[str, Term]] = [{}]
    for action in before:
        value = Literal("nil", False) if action.value is None else action.value
        if isinstance(value, Path) and not value.root and "." in scopes[-1]:
            value = (
                value if value.fields[:1] == ("Values",) else Inner(scopes[-1]["."], value.fields)
            )
        if action.keyword in BLOCKS:
            scopes.append(dict(scopes[-1]))
            if action.keyword in ("with", "range"):
                scopes[-1]["."] = value if action.keyword == "with" else Call("range", (value,))
            scopes[-1] |= dict.fromkeys(action.declares, scopes[-1].get(".", value))
        elif action.keyword == "end":
            scopes[-1:] = []
        elif not action.keyword:
            for name in action.declares:
                if ":=" in text[action.start : action.end]:
                    scopes[-1][name] = value
                else:
                    scopes = [{key: scope[key] for key in scope if key != name} for scope in scopes]
    return scopes[-1]


def show(term: Term) -> str:
    """Return a term as Helm code."""
    match term:
        case Literal(value, is_text):
            return json.dumps(value, ensure_ascii=False) if is_text else value
        case Path(root, fields):
            return root + "".join(f".{name}" for name in fields) or "."
        case Inner(value, fields):
            return f"({show(value)})" + "".join(f".{name}" for name in fields)
        case Call(name, arguments):
            return " ".join([name, *map(show_argument, arguments)])


def show_argument(term: Term) -> str:
    """Return a term as an argument of a function."""
    is_call = isinstance(term, Call) and (term.arguments or term.name.isalpha())
    return f"({show(term)})" if is_call else show(term)


def argument(code: str) -> str:
    """Return Helm code as an argument of a function."""
    return f"({code})" if " " in code and not _WHOLE.fullmatch(code) else code


def parsed(code: str) -> Term:
    """Return the term of Helm code."""
    action = read_action(f"{OPEN} {code} {CLOSE}", 0)
    return Path(code, ()) if action is None or action.value is None else action.value


def named_value(code: str, variables: Mapping[str, Term]) -> str:
    """Return the path of the value that Helm code reads, such as `policies.a.mode`, or the code."""
    return ".".join(value_path(parsed(code), variables) or [code])


def named_decision(code: str, is_set: bool, variables: Mapping[str, Term]) -> str:
    """Return in words how a condition is decided, such as `policies.a.mode is enforce`."""
    match parsed(code):
        case Call("eq", (value, Literal(text, True))):
            return f"{named_value(show(value), variables)} is {text if is_set else f'not {text}'}"
    return f"{named_value(code, variables)} is {'set' if is_set else 'empty'}"


def value_path(term: Term, variables: Mapping[str, Term]) -> list[str] | None:
    """Return the path of the value that a term reads; None for other terms."""
    match term:
        case Path("" | "$", ("Values", *fields)):
            return list(fields)
        case Path(root, fields) if (root or ".") in variables:
            return value_path(Inner(variables[root or "."], fields), variables)
        case Literal(value, True):
            return [value]
        case Inner(Call("split", (_, value)), _):
            return value_path(value, variables)
        case Inner(value, fields):
            inner = value_path(value, variables)
            return None if inner is None else [*inner, *fields]
        case Call("dig", (*keys, _, holder)):
            steps = [holder, *keys]
        case Call("get" | "hasKey" | "index", arguments):
            steps = list(arguments)
        case Call("range", (value,)):
            steps = [value]
        case Call("tpl", (Path() | Inner() | Call() as value, _)) | Call(
            _, (*_, Path() | Inner() | Call() as value)
        ) if term.name in _KEEPING:
            steps = [value]
        case _:
            return None
    paths = [value_path(step, variables) for step in steps]
    return None if None in paths else [step for path in paths for step in path or ()]


def starts_exclude(nodes: Sequence[Node]) -> bool:
    """Report whether a named template prints an `exclude`, and nothing before it."""
    return next(_texts(nodes), "").startswith("exclude:")


def _texts(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Text) and node.text.strip():
            yield node.text.strip()
        elif isinstance(node, Output):
            yield "{{"
        elif isinstance(node, Block):
            yield from _texts(node.body)
