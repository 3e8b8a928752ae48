"""A policy's template carried out with marks in place of what values give.

Conditions on values are decisions: each variant of a policy takes them one way. A list of values
has two items, or three, or none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from chartkit.addons.migrate.charts.chosen import DEFAULTS
from chartkit.addons.migrate.charts.decisions import Decisions
from chartkit.addons.migrate.charts.fields import (
    IDENTITY,
    REFERENCES,
    SETTINGS,
    TEXT_LISTS,
    TEXT_MAPS,
    condition,
    opposite,
)
from chartkit.addons.migrate.charts.marks import (
    DURATION_FORM,
    EXCLUDED_FORM,
    INDEX,
    MARK,
    MARK_FORM,
    NO_DURATION,
    NO_NUMBER,
    NUMBER_FORM,
    PEM,
    REFERENCE,
    SPECIMENS,
    YAML,
    Mark,
    PolicyTemplate,
    Variant,
    nested,
)
from chartkit.addons.migrate.charts.scope import Scope, indexed, listed, resolved
from chartkit.addons.migrate.charts.template import (
    SPACE,
    Assignment,
    Block,
    Node,
    NotPlacedError,
    Output,
    Text,
    parsed,
    show,
    show_argument,
    starts_exclude,
)
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.helm.syntax import Call, Inner, Literal, Path, Term
from chartkit.model import Json

_LIST_HEAD: Final = re.compile(r"^[ \t]*(?:- )?(\w+):[ \t]*$", re.MULTILINE)
_OF_STANDARDS: Final = re.compile(r"podSecurity:\n(?:(?!.*validate:).*\n)*?[ \t]+exclude:\s*\Z")
_KEY: Final = re.compile(
    r"(?:(?:^|\n)[ \t]*(?:- )*|[{,] *)[\"']?(?:[=X^+<]?\()?([\w./-]+)\)?[\"']?:[ \t]*[\"']?\Z"
)
_BEHIND_SIGN: Final = re.compile(r"[<>]=?[ \t]*\Z")
_BEHIND_QUOTE: Final = re.compile(r": *[\"']\Z")
_SECTION: Final = re.compile(
    r"^[ \t]*(?:- )?(match|exclude|preconditions|context|validate|mutate|generate|verifyImages):",
    re.MULTILINE,
)
_ORDERED: Final = re.compile(r"\n[ \t]*operator:[ \t]*[\"']?(?:Greater|Less)Than")
_SIZE: Final = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[numkMGTPE]|[KMGTPE]i)?")
_VERB: Final = re.compile("%[dsv]")
_TIME: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:h|m|s|ms))+")


def render(policy: PolicyTemplate, variant: Variant) -> str:
    """Return the text of a variant; raise NotPlacedError."""
    return f"{_Run(policy, variant).text()}\n"


class _Run(Decisions):
    def __init__(self, policy: PolicyTemplate, variant: Variant) -> None:
        super().__init__(policy, variant)
        self._parts: list[str] = []
        self._depth = 0

    def text(self) -> str:
        scope = Scope(Path("", ()), Path("$", ()), [{}])
        self._nodes(self._policy.nodes, scope)
        return "".join(self._parts)

    def _nodes(self, nodes: Sequence[Node], scope: Scope) -> None:
        for node in nodes:
            match node:
                case Text(text):
                    self._parts.append(text)
                case Output(value, line):
                    self._line = line
                    self._parts.append(self._output(resolved(value, scope), scope))
                case Assignment(name, value, is_new):
                    scoped = (block for block in reversed(scope.variables) if name in block)
                    block = scope.variables[-1] if is_new else next(scoped, scope.variables[-1])
                    block[name] = resolved(value, scope)
                case Block():
                    self._line = node.line
                    self._block(node, scope)

    def _block(self, block: Block, scope: Scope) -> None:
        value = resolved(block.value, scope)
        if block.keyword == "range":
            self._range(block, value, scope)
        elif block.keyword in ("if", "with"):
            outer, self._consulted = self._around, {}
            holds = self._holds(value)
            self._around = outer | self._consulted
            if holds:
                inner = scope.inner(value if block.keyword == "with" else None)
                if block.declares:
                    inner.variables[-1][block.declares[-1]] = value
                self._nodes(block.body, inner)
            else:
                self._nodes(block.otherwise, scope.inner())
            self._around = outer
        else:
            raise NotPlacedError(f"{block.keyword} within a policy is not supported", block.line)

    def _range(self, block: Block, value: Term, scope: Scope) -> None:
        constant = self._constants(value)
        if constant is not None:
            for item in constant:
                inner = scope.inner(item)
                if block.declares:
                    inner.variables[-1][block.declares[-1]] = item
                self._nodes(block.body, inner)
            return
        if self._loop is not None:
            if not self._uses_item(value) or isinstance(self._sample(value), dict):
                raise NotPlacedError("a range within another is not supported", block.line)
            for at, mark in enumerate(nested(value, self._loop[0])):
                inner = scope.inner(mark.term)
                items = Literal(str(at), False), mark.term
                inner.variables[-1] |= zip(
                    block.declares, items[-len(block.declares) :], strict=False
                )
                self._nodes(block.body, inner)
            return
        key, count = self._list(value, block.declares)
        if not count:
            self._nodes(block.otherwise, scope.inner())
        names = [Path(name, ()) for name in self._policy.lists[key]]
        for index in range(count):
            inner = scope.inner(names[-1])
            first = names[0] if len(names) > 1 else Call(INDEX, (Literal(str(index), False),))
            inner.variables[-1] |= zip(
                block.declares, [first, names[-1]][-len(block.declares) :], strict=False
            )
            self._loop = key, index
            self._nodes(block.body, inner)
            self._loop = None

    def _constants(self, value: Term) -> Sequence[Term] | None:
        """Return the items of a list that the template writes out, or that chooses kinds or
        operations; None for others."""
        key = self._key() or self._last_line().removeprefix("- ").partition(":")[0]
        section = self._section() if key in DEFAULTS else ""
        if listed(value) is not None or section != "match":
            if section and key == "operations":
                raise NotPlacedError("operations from values have no form in CEL", self._line)
            return listed(value)
        if self._policy.chosen.setdefault(key, value) != value:
            raise NotPlacedError(f"several values choose {key}", self._line)
        if self._loop is not None and self._uses_item(value):
            self._policy.by_rule = self._loop[0]
        sample = self._usual(value)
        is_known = isinstance(sample, list) and sample and all(isinstance(x, str) for x in sample)
        used = self._policy.tried.get(key) or (sample if is_known else DEFAULTS[key])
        self._policy.used[key] = used
        return [Literal(item, True) for item in used]

    def _usual(self, term: Term) -> Json:
        """Return what a term is by the chart's values, or by a default that the template has."""
        match term:
            case Call("default" | "ternary", (usual, *_)) if not self._sample(term):
                items = listed(usual)
                return self._constant(usual) if items is None else list(map(self._constant, items))
        return self._sample(term)

    def _output(self, term: Term, scope: Scope) -> str:
        match self._followed(term):
            case Inner(value, ()):
                return self._output(value, scope)
            case Call("indent" | "nindent" as name, (Literal(count, False), value)):
                value = self._followed(value)
                excluded = self._excluded(value, int(count))
                if excluded:
                    return excluded
                if isinstance(_within_tpl(value), Path) and self._last_line().endswith(":"):
                    raise NotPlacedError(
                        f"{show(term)} is a part of the policy as text", self._line
                    )
                pad = " " * int(count)
                start = ("\n" if name == "nindent" else "") + pad
                self._parts.append(start)
                text = self._output(value, scope).replace("\n", f"\n{pad}")
                self._parts.pop()
                return start + text
            case Call("include", (name, argument)):
                return self._included(self._constant(name) or "", argument)
            case Call("toYaml", (value,)) | Call("tpl", (Call("toYaml", (value,)), _)) if (
                not self._setting()
            ):
                return self._yaml(value)
            case Call("join", (Literal(separator, True), value)):
                return separator.join(self._items(value))
            case Call("toJson", (value,)) if self._key() in TEXT_LISTS:
                return f"[{', '.join(self._items(value))}]"
            case Call("quote" | "toJson" as name, (value,)) if name == "quote" or isinstance(
                self._sample(value), str
            ):
                text = self._output(value, scope)
                self._policy.quoted.update(int(number) for number, _ in MARK.findall(text))
                return f'"{text}"'
            case Call("squote", (value,)):
                return f"'{self._output(value, scope)}'"
            case Call("printf", (Literal(pattern, True), *arguments)) if not self._setting():
                parts = _VERB.split(pattern)
                if len(parts) == len(arguments) + 1 and "%" not in "".join(parts):
                    texts = [self._output(part, scope) for part in arguments]
                    return "".join(map("".join, zip(parts, [*texts, ""], strict=True)))
        counted = indexed(term)
        if counted != term and self._loop is not None:
            return self._mark(Mark(counted, self._loop[0]), self._loop[1])
        constant = self._constant(term)
        return constant if constant is not None else self._scalar(term)

    def _followed(self, term: Term) -> Term:
        """Return the include that a variable is set to before the policy; other terms as they
        are."""
        if isinstance(term, Path) and not term.fields:
            value = self._policy.variables.get(term.root)
            return value if isinstance(value, Call) and value.name == "include" else term
        return term

    def _included(self, name: str, argument: Term) -> str:
        if name not in self._policy.named or self._depth > 8:
            raise NotPlacedError(
                f"the template {name or 'that is included'} is not read", self._line
            )
        outer, before, line = self._parts, "".join(self._parts), self._line
        self._parts = [before]
        self._depth += 1
        self._nodes(self._policy.named[name], Scope(argument, argument, [{}]))
        self._depth -= 1
        self._line = line
        text, self._parts = "".join(self._parts).removeprefix(before), outer
        return text

    def _excluded(self, value: Term, indent: int) -> str:
        """Return an `exclude` with a mark for one that comes from values; empty for others."""
        if _OF_STANDARDS.search("".join(self._parts)):
            return ""
        pad = " " * indent
        match value:
            case Call("include", (Literal(name, True), _)) if starts_exclude(
                self._policy.named.get(name, ())
            ):
                value = Inner(Call("fromYaml", (value,)), ("exclude",))
                begin = f"\n{pad}exclude:\n{pad}  any:"
            case Call("toYaml", (inner,)) if self._last_line() == "exclude:":
                value, begin = inner, f"\n{pad}any:"
            case Call("tpl", (Call("toYaml", _), _)) if self._last_line() == "exclude:":
                value, begin = Call("fromYaml", (value,)), f"\n{pad}any:"
            case _:
                return ""
        if value not in self._policy.excluded:
            self._policy.excluded.append(value)
        mark = EXCLUDED_FORM.format(self._policy.excluded.index(value))
        return f"{begin}\n{pad}  - resources:\n{pad}      namespaces: [{mark}]"

    def _last_line(self) -> str:
        return "".join(self._parts).rstrip(SPACE).rpartition("\n")[2].strip()

    def _key(self) -> str:
        """Return the key whose value begins here, empty for none."""
        match = _KEY.search("".join(self._parts[-4:]))
        return match[1] if match else ""

    def _last_list(self) -> str:
        """Return the last key that stands alone on a line before this one."""
        heads = _LIST_HEAD.findall("".join(self._parts).rpartition("\n")[0])
        return heads[-1] if heads else ""

    def _section(self) -> str:
        """Return the part of a rule that stands last, empty for none."""
        return next(reversed(_SECTION.findall("".join(self._parts))), "")

    def _setting(self) -> tuple[str, str] | None:
        return SETTINGS.get(self._key())

    def _yaml(self, value: Term) -> str:
        """Return the lines of a list of texts."""
        last = self._last_line()
        key = last.removeprefix("- ").removesuffix(":")
        is_list = last.startswith("- ck-mark") or (last.endswith(":") and key in TEXT_LISTS)
        if is_list or self._constants(value) is not None:
            return "\n".join(f"- {item}" for item in self._items(value))
        section = self._section() or (key if last.endswith(":") else "spec")
        sample = self._sample(value)
        items = sample if isinstance(sample, list) else [{}]
        # Of other lists, a patch merges items that have a name.
        is_taken = key == "tolerations" or not any(isinstance(item, dict) for item in items)
        if section == "mutate" and items is sample and is_taken:
            code = f'regexMatch "[{{][{{]|[(]" (toJson {show_argument(value)})'
            self._policy.refused[code] = show(value), "has what begins an expression or an anchor"
            return "\n".join(f"- {item}" for item in self._items(value))
        if section == "generate" and isinstance(sample, dict | list):
            item = f"{self._mark(Mark(value), 0)}: {YAML}"
            return f"- {item}" if isinstance(sample, list) else item
        if section == "mutate" and key in TEXT_MAPS and isinstance(sample, dict):
            name, count = self._list(value)
            marks = [Mark(Path(part, ()), name) for part in self._policy.lists[name]]
            pairs = ([self._mark(mark, at) for mark in marks] for at in range(count))
            return "\n".join(f'{key}: "{text}"' for key, text in pairs) or "{}"
        reason = f"{section} from values has no form in CEL"
        if section == "preconditions":
            reason = "preconditions from values are in JMESPath, which no policy in CEL reads"
        raise NotPlacedError(reason, self._line)

    def _items(self, value: Term) -> list[str]:
        constant = self._constants(value)
        if constant is not None:
            return [self._constant(item) or "" for item in constant]
        if self._loop is not None and self._uses_item(value):
            name, at = self._loop
            return [self._mark(mark, at) for mark in nested(value, name)]
        key, count = self._list(value)
        mark = Mark(Path(self._policy.lists[key][-1], ()), key)
        return [self._mark(mark, index) for index in range(count)]

    def _scalar(self, term: Term) -> str:
        """Return the mark of a scalar, or the value of a setting that is decided."""
        setting, key = self._setting(), self._key()
        usual = self._usual(term) if key == "operator" else None
        if isinstance(usual, str):
            setting = usual, opposite(usual)
        if setting is not None and not self._uses_item(term):
            if key in ("level", "operator") and not _chooses(term):
                choices = sorted(setting)
                code = (
                    f"not (has {show_argument(term)} (list {' '.join(map(json.dumps, choices))}))"
                )
                self._policy.refused[code] = show(term), f"is neither {' nor '.join(choices)}"
            is_usual = setting[0] != "Ignore"
            return setting[not self._holds(condition(term, setting), int(is_usual))]
        if key == "version" and self._last_list() == "podSecurity":
            code = f'ne {show_argument(term)} "latest"'
            self._policy.refused[code] = show(term), "is another version than latest"
            return "latest"
        if key in SPECIMENS:
            self._policy.specimens[key] = term
            return SPECIMENS[key]
        if isinstance(self._sample(term), bool) and key:
            code = f'not (kindIs "bool" {show_argument(term)})'
            self._policy.refused[code] = show(term), "is neither true nor false"
            return "true" if self._holds(term) else "false"
        if key in IDENTITY and self._section() == "verifyImages":
            is_wild = self._holds(
                Call("regexMatch", (Literal("[*?]", True), term)),
                int(has_wildcard(str(self._sample(term)))),
            )
            if is_wild:
                term = Call("include", (Literal("CHART.regularExpression", True), term))
            # The new form has wildcards as a regular expression.
            return self._marked(term).partition("xxx")[0] + ("xxx*" if is_wild else "xxx")
        return self._marked(term)

    def _marked(self, term: Term) -> str:
        if self._uses_item(term) and self._loop is not None:
            return self._mark(Mark(term, self._loop[0]), self._loop[1])
        return self._mark(Mark(term), 0)

    def _mark(self, mark: Mark, index: int) -> str:
        if mark not in self._policy.marks:
            self._policy.marks.append(mark)
        number = self._policy.marks.index(mark)
        before = "".join(self._parts[-1:])
        sample = self._sample(mark.term)
        if mark.list_key and mark.term == Path(self._policy.lists[mark.list_key][-1], ()):
            items = self._sample(parsed(mark.list_key))
            sample = next(iter(items), None) if isinstance(items, list) else None
        compared = "".join(self._parts).rpartition("key:")[2] if self._key() == "value" else ""
        is_size = (
            isinstance(sample, str)
            and bool(_ORDERED.search(compared))
            and bool(_SIZE.fullmatch(sample))
        )
        if is_size or _BEHIND_SIGN.search(before) or type(sample) in (int, float):
            self._policy.ordered[number] = NO_NUMBER
            return NUMBER_FORM.format(number, index) + self._policy.suffixes.get(number, "")
        if str(sample).startswith(PEM[0]):
            code = f'not (hasPrefix "{PEM[0]}" {show_argument(mark.term)})'
            self._policy.refused[code] = show(mark.term), "is no public key in PEM"
            return MARK_FORM.format(number, index).join(PEM)
        if self._last_list() in REFERENCES:
            has_path = self._policy.references.setdefault(number, "/" in str(sample))
            return (
                MARK_FORM.format(number, index)
                + REFERENCE[: None if has_path else REFERENCE.index("/")]
            )
        if "time_" in compared and isinstance(sample, str) and _TIME.fullmatch(sample):
            self._policy.ordered[number] = NO_DURATION
            return DURATION_FORM.format(number, index)
        if _BEHIND_QUOTE.search(before):
            self._policy.quoted.add(number)
        return MARK_FORM.format(number, index) + self._policy.suffixes.get(number, "")


def _chooses(term: Term) -> bool:
    """Report whether a term is one of two constants."""
    return isinstance(term, Call) and term.name == "ternary"


def _within_tpl(term: Term) -> Term:
    return term.arguments[0] if isinstance(term, Call) and term.name == "tpl" else term
