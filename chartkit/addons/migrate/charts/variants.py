"""A policy's template converted: once for each way in which its conditions may be decided."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.charts.chosen import candidates, with_chosen
from chartkit.addons.migrate.charts.fields import has_null
from chartkit.addons.migrate.charts.lists import MORE, Lists
from chartkit.addons.migrate.charts.marks import (
    ITEMS,
    MARK,
    Mark,
    PolicyTemplate,
    Variant,
    readable,
    unmarked,
    within,
)
from chartkit.addons.migrate.charts.normal import by_rule
from chartkit.addons.migrate.charts.rendering import render
from chartkit.addons.migrate.charts.template import (
    NotPlacedError,
    argument,
    named_decision,
    named_value,
    parsed,
    show,
    show_argument,
)
from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.files.printed import in_reading_order
from chartkit.documents.reader import read_text
from chartkit.engine import is_exception
from chartkit.engine.cluster_policy import autogen
from chartkit.errors import ChartkitError, InputError
from chartkit.helm.syntax import Literal, Path, Term
from chartkit.model import Body, Location, Resource, mapping_at

VALIDATING: Final = "ValidatingPolicy"
HELPERS: Final = "_policy-types.tpl"
NULL: Final = "the pattern has null where the field is an object"
CONTROLLERS: Final = "chartkitcontrollers"
"""Takes the place of the pod controllers that values choose."""
_NAME: Final = "chartkitname"
_MOST: Final = 400
WILDCARDS: Final = "wildcards"
ANY: Final = "[*?]"
_SPACE: Final = re.compile(r"(?:\\n| )+")
_HOST: Final = "[a-z0-9-]+([.][a-z0-9-]+)+(:[0-9]+)?"
_WHOLE: Final = f"^(?:{_HOST}/[a-z0-9._/-]*[*] ?)*$", "other references than REGISTRY/PATH*"
_REGISTRY: Final = f"^(?:{_HOST})$", "another text than the name of a registry"
"""The form of an image reference, whole or up to its path, and the name of what has another."""
_OPERATORS: Final = (
    ("*z", ANY, WILDCARDS),
    ("&z", "[|&<>!]|(^| )[-+]?[0-9]+([.][0-9]+)?[a-zA-Z]*( |$)", "operators or numbers"),
)
"""Endings of a value, each with a regular expression for the characters that it tries, and their
name."""


@dataclass(slots=True)
class Variants:
    """The new policies of a template, for each variant.

    both: the condition for reporting next to the old form; lists: those in CEL, of which wild may
    have wildcards, and patterns the numbers of marks whose values may; under: each decision with
    those under which it comes up; guards: the conditions under which a policy has no new form, with
    the reason; guarded: the decisions among them; looped: those of the items of a list, with the
    list; companions: decisions that others depend on, by these; refused: those without a new form
    together; controllers: the value that chooses controllers; takes_null: whether a pattern has
    null whatever the values are, and not for what these leave out; is_divided: whether decisions
    together divide the policy otherwise than each alone.
    """

    template: PolicyTemplate
    line: int
    both: str
    base: dict[str, int] = field(default_factory=dict)
    lists: Lists = field(init=False)
    wild: set[str] = field(default_factory=set)
    patterns: set[int] = field(default_factory=set)
    under: dict[str, dict[str, int]] = field(default_factory=dict)
    guards: dict[str, str] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    looped: dict[str, str] = field(default_factory=dict)
    companions: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)
    refused: list[Variant] = field(default_factory=list)
    controllers: Term | None = None
    takes_null: bool = False
    is_divided: bool = False
    _texts: dict[tuple[str, Term | None], tuple[str, Sequence[Body]]] = field(default_factory=dict)
    _known: dict[tuple[tuple[str, int], ...], Mapping[str, Body]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lists = Lists(self.template)

    def explore(self) -> None:
        """Find the decisions, and those without a new form.

        Raise NotPlacedError where no variant has one.
        """
        self._find_base()
        under = self.under = {key: {} for key in self.template.decisions}
        seen: set[str] = set()
        while left := [key for key in under if key not in seen]:
            for key in left:
                seen.add(key)
                for value in self.others(key):
                    self._try(key, {**under[key], key: value})
                    for new in self.template.decisions.keys() - under.keys():
                        under[new] = {**under[key], key: value}
        self._known.clear()
        self._choose()
        for condition, (code, what) in self.template.refused.items():
            self.guards[condition] = f"{named_value(code, self.template.variables)} {what}"
        for number, has_path in self.template.references.items():
            self.refuse(self.template.marks[number], *(_WHOLE if has_path else _REGISTRY))
        for number, mark in enumerate(self.template.marks):
            if number in self.template.ordered or number in self.template.references:
                continue
            inner = within(mark)
            if inner is not None:
                condition = f"empty {show_argument(inner)}"
                self.guards[condition] = f"{self._named(show(inner), mark.list_key)} is empty"
                self.looped[condition] = mark.list_key
            for suffix, characters, what in _OPERATORS:
                if not self._is_read(number, suffix):
                    continue
                if what == WILDCARDS:
                    self.patterns.add(number)
                    if inner is not None or self._is_item(mark):
                        self.wild.add(mark.list_key if inner is None else show(inner))
                else:
                    self.refuse(mark, characters, what)

    def _choose(self) -> None:
        """Refuse kinds and operations of values with which more of the policy would change."""
        whole = self._whole({})
        for key, term in self.template.chosen.items():
            usual = self._converted(whole)
            taken = list(self.template.used[key])
            if any(not self._stays({key: [choice]}, usual) for choice in taken):
                raise NotPlacedError(f"{key} from values have no form in CEL", self.line)
            for choice in candidates(key):
                more = [*taken, choice]
                if choice not in taken and all(
                    self._stays({key: k}, usual) for k in ([choice], more)
                ):
                    taken = more
            code, value = show_argument(term), self._named(show(term), self.template.by_rule)
            other = [choice for choice in candidates(key) if choice not in taken]
            condition = f"or (empty {code}) (without {code} {' '.join(map(json.dumps, taken))})"
            reason = f"{value} is empty, or has others than {', '.join(taken)}"
            if key == "kinds" and len(other) < len(taken):
                facts = f'"kinds" {code} "except" (list {" ".join(map(json.dumps, other))})'
                condition = f'include "CHART.otherKinds" (dict {facts.replace(" )", ")")})'
                named = "".join(f"{kind}, or " for kind in other)
                reason = f"{value} is empty, or has {named}a kind that {HELPERS} does not name"
            self.guards[condition] = reason
            if self.template.by_rule:
                self.looped[condition] = self.template.by_rule

    def _stays(self, tried: dict[str, Sequence[str]], usual: Mapping[str, Body]) -> bool:
        """Report whether a policy is the same with other kinds or operations."""
        self.template.tried.update(tried)
        try:
            return self._converted(self._whole({})) == usual
        except NotPlacedError:
            return False
        finally:
            self.template.tried.clear()

    def refuse(self, mark: Mark, characters: str, what: str) -> None:
        """Refuse values with characters that the new form does not read; names of releases and
        numbers of items have none."""
        fields = mark.term.fields[:1] if isinstance(mark.term, Path) else ()
        if fields in (("Release",), ("Chart",)) or "$index" in show(mark.term):
            return
        inner = within(mark)
        code = f'default "" {show_argument(mark.term)} | toString'
        if inner is not None:
            code = f'join " " {show_argument(inner)}'
        is_item = self._is_item(mark)
        if is_item:  # between them are spaces
            items = argument(mark.list_key)
            characters = re.sub(r"^\^(?=\[)", "(^| )", characters)
            characters = re.sub(r"\[\^([^]]*)\]", r"[^\1 ]", characters)
            names = self.template.lists[mark.list_key]
            part = "keys" if mark.term == Path(names[0], ()) else "values"
            code = f'join " " {f"({part} {items})" if len(names) > 1 else items}'
        condition = f"regexMatch {json.dumps(characters)} ({code})"
        if characters.startswith("^(?:"):
            condition = f"not ({condition})"
        value = self._named(show(inner or mark.term), mark.list_key)
        reason = f"{value} has {what}, which this form of the policy does not read"
        self.guards.setdefault(condition, reason)
        if mark.list_key and not is_item:
            self.looped[condition] = mark.list_key

    def _is_item(self, mark: Mark) -> bool:
        """Report whether a mark is an item of a list, and not a part of one."""
        names = self.template.lists.get(mark.list_key, ())
        return isinstance(mark.term, Path) and not mark.term.fields and mark.term.root in names

    def _named(self, code: str, name: str) -> str:
        """Return the path of the value that Helm code reads; name: the list of its item."""
        items = dict.fromkeys(self.template.lists.get(name, ()), parsed(name))
        return named_value(code, {**self.template.variables, **items})

    def _is_read(self, number: int, suffix: str) -> bool:
        """Report whether a policy reads the characters at the end of a value as more than text."""
        for variant in (
            {},
            *(
                {**self.under.get(key, {}), key: value}
                for key in self.choices
                for value in self.others(key)[:1]
            ),
        ):
            whole = self._whole(variant)
            try:
                plain = self._documents(whole)
                if f"mark{number:03}x" not in json.dumps(plain):
                    continue
                self.template.suffixes[number] = suffix
                marked = self._documents(whole)
            except NotPlacedError:
                if self.template.suffixes:
                    return True
                continue
            finally:
                self.template.suffixes.clear()
            # In a name it is a hyphen; with it, lines may break elsewhere.
            text = json.dumps(marked).replace(suffix, "").replace("xxx-z", "xxx")
            return _SPACE.sub("", text) != _SPACE.sub("", json.dumps(plain))
        return False

    def _find_base(self) -> None:
        """Find decisions that have a new form: none taken, else all, else one."""
        first = self._error({})
        if first is None and self.bodies({}):
            return
        bases: list[dict[str, int] | None] = [self._everything()]
        if first is not None:
            bases.append(dict.fromkeys(self.template.items, 1))
            bases += ({key: int(not value)} for key, value in self.template.decisions.items())
            bases.append(None)
        for base in bases:
            self.takes_null, self.base = base is None, base or {}
            if base != {} and self._error({}) is None and self.bodies({}):
                return
        self.takes_null, self.base = False, {}
        if first is not None:
            raise first

    def _everything(self) -> dict[str, int]:
        """Return all decisions as taken; empty where some exclude others."""
        taken: dict[str, int] = {}
        usual = dict(self.template.decisions)
        while new := self._switches(taken):
            taken |= dict.fromkeys(new, 1)
            self._error(taken)
        for key in taken:
            self._error({**taken, key: 0})
        if not self._switches(taken):
            return taken
        self.template.decisions.clear()
        self.template.decisions |= usual
        return {}

    def _switches(self, taken: Variant) -> list[str]:
        """Return the decisions that are not among those taken, without the lengths of lists."""
        return [
            key for key in self.template.decisions if key not in taken and not self.is_list(key)
        ]

    def _error(self, variant: Variant) -> NotPlacedError | None:
        """Return why a variant has no new form, None where it has."""
        try:
            self.bodies(variant)
        except NotPlacedError as error:
            return error
        return None

    def _try(self, key: str, variant: Variant) -> None:
        """Refuse a decision that has no new form in a variant."""
        error = self._error(variant)
        if error is None:
            return
        if variant[key] == MORE:
            line = error.line or self.template.lines.get(key, self.line)
            raise NotPlacedError(error.message, line)
        taken, other = {key: bool(variant[key])}, self._companion(variant)
        if other:
            value = self.others(other)[0]
            self.companions[key, variant[key]] = {other: value}
            taken[other] = not value
        else:
            self.guarded.add(key)
        self._guard(taken, error.message)

    def _guard(self, taken: Mapping[str, bool], reason: str) -> None:
        """Stop Helm where decisions are taken in a way that has no new form."""
        codes = [name if is_set else f"not {argument(name)}" for name, is_set in taken.items()]
        condition = f"and {' '.join(map(argument, codes))}" if len(codes) > 1 else codes[0]
        what = " and ".join(
            named_decision(name, is_set, self.template.variables) for name, is_set in taken.items()
        )
        self.guards.setdefault(condition, f"{what}: {reason}")

    def refuse_together(self, variant: Variant, reason: str) -> None:
        """Refuse decisions that have no new form together."""
        self.refused.append(variant)
        self._guard({key: bool(value) for key, value in variant.items()}, reason)

    def contexts(self, key: str) -> list[dict[str, int]]:
        """Return the decisions under which one counts: those that it comes up with, and others."""
        first = self.under.get(key, {})
        more = (
            {name: value for name, value in context.items() if value != self.default(name)}
            for context in self.template.contexts.get(key, ())
            if self.guarded.isdisjoint(context)
        )
        return [first, *(context for context in more if context and context != first)]

    def _companion(self, variant: Variant) -> str:
        """Return the decision with whose other value a variant has a new form, empty for none."""
        with suppress(NotPlacedError):
            render(self.template, {**self.base, **variant})
            for other in list(self.template.decisions):
                if other not in variant and not self.is_list(other):
                    with suppress(NotPlacedError):
                        self.bodies({**variant, other: self.others(other)[0]})
                        return other
        return ""

    def others(self, key: str) -> list[int]:
        """Return the values that a decision does not have in the base."""
        values = [0, ITEMS, MORE] if self.is_list(key) else [0, 1]
        return [value for value in values if value != self.default(key)]

    def default(self, key: str) -> int:
        """Return how a decision is taken in the base."""
        return self.base.get(key, self.template.decisions.get(key, 0))

    def is_list(self, key: str) -> bool:
        """Report whether a decision is the number of items of a list."""
        return key in self.template.lists

    @property
    def choices(self) -> list[str]:
        """The decisions that have a new form either way."""
        return [self.both, *(key for key in self.template.decisions if key not in self.guarded)]

    def is_refused(self, variant: Variant) -> bool:
        """Report whether a variant takes a decision without one that it depends on."""
        companions = (self.companions.get(taken, {}) for taken in variant.items())
        whole = self._whole(variant)
        return any(
            variant.get(key, value) != value for pair in companions for key, value in pair.items()
        ) or any(
            all(whole.get(key, self.default(key)) == value for key, value in refused.items())
            for refused in self.refused
        )

    def bodies(self, variant: Variant) -> Mapping[str, Body]:
        """Return the new policies of a variant, by their kind and the end of their name."""
        whole = self._whole(variant)
        key = tuple(sorted(whole.items()))
        if key not in self._known:
            if len(self._known) > _MOST:
                raise NotPlacedError("too many conditions depend on each other", self.line)
            self._known[key] = self._converted(whole)
        return self._known[key]

    def _whole(self, variant: Variant) -> dict[str, int]:
        """Return a variant with the decisions of the base, and those that its own depend on."""
        whole = dict(self.base)
        for taken in variant.items():
            whole |= self.companions.get(taken, {})
        return whole | dict(variant)

    def _documents(self, variant: Variant) -> tuple[str, Sequence[Body]]:
        """Return the name of a variant of the old policy, and what it becomes."""
        text = render(self.template, variant)
        key = text, self.controllers
        if key not in self._texts:
            self._texts[key] = self._converted_text(text)
        return self._texts[key]

    def _converted_text(self, text: str) -> tuple[str, Sequence[Body]]:
        legacy = self._legacy(text)
        if not legacy:
            return "", []
        if not self.takes_null and has_null(mapping_at(legacy, "spec").get("rules")):
            raise NotPlacedError(NULL, self.line)
        whole = Resource(legacy, Location("", self.line))
        is_each = self.template.is_apart or self.template.by_rule
        known = self.template.legacy
        batch = Batch([whole, *(one for one in known if is_exception(one) != is_exception(whole))])
        try:
            conversions = list(map(batch.convert, [whole, *(by_rule(whole) if is_each else ())]))
        except ChartkitError as error:
            raise NotPlacedError(readable(self.template, error.message), self.line) from None
        for outcome in (outcome for conversion in conversions for outcome in conversion.outcomes):
            if outcome.reason.startswith("it names no operation"):
                raise NotPlacedError("operations from values have no form in CEL", self.line)
            if outcome.reason:
                raise NotPlacedError(readable(self.template, outcome.reason), self.line)
        del conversions[: bool(is_each)]
        documents = [
            unmarked(body, self.template)
            for conversion in conversions
            for body in conversion.documents
        ]
        return legacy["metadata"]["name"], documents

    def _converted(self, variant: Variant) -> Mapping[str, Body]:
        legacy, documents = self._documents(variant)
        bodies: dict[str, Body] = {}
        for body in documents:
            name = body["metadata"]["name"]
            end = name.removeprefix(legacy)
            spec = in_reading_order(self.lists.collapsed(body, variant))["spec"]
            bodies[f"{body['kind']}/{end}"] = {
                "spec": self._spec(body["kind"], spec, variant, len(documents) == 1)
            }
        loops = [name for name in bodies if self.list_of(name)]
        is_mixed = len(loops) < len(bodies) and bool(loops or self.template.by_rule)
        if is_mixed and not self.template.is_apart:
            raise NotPlacedError("the items of a list have policies of their own", self.line)
        return bodies

    def list_of(self, name: str) -> str:
        """Return the list for whose items there are policies of a name, empty for none."""
        match = MARK.search(name)
        return self.template.marks[int(match[1])].list_key if match else ""

    def _legacy(self, text: str) -> Body:
        try:
            documents = [document.body for document in read_text(text) if document.body is not None]
        except InputError as error:
            raise NotPlacedError(
                f"with some values it is not YAML: {error.message}", self.line
            ) from None
        if not documents:
            return {}
        if len(documents) != 1 or not isinstance(documents[0], dict):
            raise NotPlacedError("with some values it is not one document", self.line)
        body = documents[0]
        metadata = dict(mapping_at(body, "metadata"))
        name = str(metadata.get("name"))
        metadata["name"] = _NAME if MARK.search(name) else name
        annotations = dict(mapping_at(metadata, "annotations"))
        chosen = MARK.fullmatch(str(annotations.get(autogen.ANNOTATION, "")))
        if chosen is not None:
            self.controllers = self.template.marks[int(chosen[1])].term
        elif self.template.excluded and autogen.ANNOTATION in annotations:
            self.controllers = Literal(str(annotations[autogen.ANNOTATION]), True)
        if self.controllers is not None:
            annotations.pop(autogen.ANNOTATION, None)
        kept = {key: value for key, value in annotations.items() if key == autogen.ANNOTATION}
        return {
            **body,
            "metadata": {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
            | {"annotations": kept},
        }

    def _spec(self, kind: str, spec: Body, variant: Variant, is_alone: bool) -> Body:
        spec = dict(spec)
        if kind.endswith(VALIDATING) and "Image" not in kind and variant.get(self.both):
            spec["validationActions"] = ["Audit"]
            spec["failurePolicy"] = "Ignore"
        resources = {
            resource
            for rule in mapping_at(spec, "matchConstraints").get("resourceRules", ())
            for resource in rule.get("resources", ())
        }
        if any(map(MARK.search, resources)):
            raise NotPlacedError("kinds from values have no form in CEL", self.line)
        chooses = self.controllers is not None or bool(self.template.excluded)
        if chooses and resources == {"pods"} and "autogen" not in spec:
            if not is_alone and not kind.endswith(VALIDATING):
                raise NotPlacedError("pod controllers of a mutation come from values", self.line)
            spec["autogen"] = CONTROLLERS
        if self.template.chosen:
            spec = with_chosen(spec, self.template.used)
        ordered: Body = in_reading_order({"spec": spec})["spec"]
        return ordered
