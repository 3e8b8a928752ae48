"""Both forms of a chart rendered by Helm with the same values, and compared."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.acceptance import REFUSED
from chartkit.addons.migrate.charts.chosen import candidates
from chartkit.addons.migrate.charts.forms import NUMBER, SWITCH, NewForm
from chartkit.addons.migrate.charts.normal import by_rule, normal_policy
from chartkit.addons.migrate.charts.variants import NULL, VALIDATING
from chartkit.addons.migrate.conversion import Conversion, legacy_rules
from chartkit.addons.migrate.convert import Batch, excepts, policy_key
from chartkit.addons.migrate.files.printed import CEL
from chartkit.documents.reader import read_text
from chartkit.engine import is_exception
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.kubernetes.kinds import CEL_GROUP, group_of
from chartkit.errors import ChartkitError, CompileError
from chartkit.helm.backend import helm
from chartkit.helm.chart_values import merge
from chartkit.helm.model import Target
from chartkit.model import Body, Json, Resource, mapping_at
from chartkit.report.model import resource_id
from chartkit.temporary import temporary_folder

_DEFAULTS: Final = "the chart's values"
_EVERYTHING: Final = "everything enabled"
_RANDOM: Final = 12
_COMPARED: Final = re.compile(r'\b(?:eq|ne) \(?(?:lower )?\$?\.Values\.([\w.]+)\)? "([^"]+)"')
_CHANGES: Final = 6
_SEED: Final = 34
_LIKELY: Final = 0.5
_EXCLUSION: Final = {"any": [{"resources": {"namespaces": ["alpha"]}}]}
_FAIL: Final = re.compile(
    r"\{\{- fail (?=\"(?:[^\"\\]|\\.)*\(policyType\)\" \}\}|\(?(?:printf )?\"exclude )"
)
_REFUSED: Final = "chartkit-refused"
_PRINT: Final = rf'{{{{- printf "\n---\n{_REFUSED}: %q\n---\n" '
"""Replaces a refusal of Helm, so that the other templates are rendered all the same."""
_APART: Final = "each rule of {name} has a policy of its own in the new form: name these by hand"
_UNRENDERED: Final = "no values of the proof render it"
_WORDS: Final = ("alpha", "beta-2", "gamma.example")
_OTHERS: Final = (candidates("kinds"), candidates("operations"))
_CHOICES: Final = (("Audit", "Enforce"), ("audit", "enforce"), ("Ignore", "Fail"))

Rendered = Mapping[str, Sequence[Body]]
"""The objects of each template, by its path in the chart."""


@dataclass(frozen=True, slots=True)
class ValuesCase:
    """Values that both forms are rendered with. name: as messages speak of them; is_own: whether
    they are those of the chart or of a file."""

    name: str
    values: Body
    is_own: bool = True


def render(chart: Path, values: Body, target: Target) -> Rendered:
    """Return the objects that a chart renders; raise ChartkitError."""
    texts = helm().render(chart, values, target).files
    objects: dict[str, list[Body]] = {}
    for name, text in texts.items():
        if not name.endswith(("/NOTES.txt", ".tpl")):
            bodies = [document.body for document in read_text(text, name)]
            objects[name.partition("/")[2]] = [body for body in bodies if isinstance(body, dict)]
    return objects


def cases(
    chart: Path,
    defaults: Body,
    given: Sequence[ValuesCase],
    target: Target,
    decisive: Mapping[tuple[str, ...], bool] | None = None,
) -> Iterator[ValuesCase]:
    """Yield the values of the proof: the chart's own, those of files, everything switched on, and
    changes at random, the same ones each time. decisive: the paths of values that conditions ask
    for, with whether these are lists, which are changed more often, also where the chart has
    none."""
    yield ValuesCase(_DEFAULTS, {})
    yield from given
    whole = merge(defaults, given[-1].values if given else {})
    switches = [{key: inner} for key, inner in _enabled(whole).items()]
    enabled = _accepted(chart, whole, {}, switches, target)
    yield ValuesCase(_EVERYTHING, enabled, False)
    filled = _accepted(chart, whole, enabled, list(_filled(whole)), target)
    yield ValuesCase(f"{_EVERYTHING}, and no list empty", filled, False)
    files = sorted((chart / "templates").rglob("*.yaml"))
    compared = (match for file in files for match in _COMPARED.findall(file.read_text("utf-8")))
    for path, text in list(dict.fromkeys(compared))[:_RANDOM]:
        yield ValuesCase(f"{path}: {text}", merge(enabled, _nested(path.split("."), text)), False)
    paths = decisive or {}
    missing = [
        _nested(path, _sample(path, paths[path]))
        for path in sorted(paths)
        if _at(whole, path) is None
    ]
    asked = _accepted(chart, whole, enabled, missing, target)
    missing = [part for part in missing if merge(asked, part) == asked]
    chance = random.Random(_SEED)
    for number in range(_RANDOM):
        values = json.loads(json.dumps(merge(whole, enabled) if number % 2 else whole))
        added = [part for part in missing if chance.random() < _LIKELY]
        values = reduce(merge, added, values)
        changes = _changed(values, chance, paths)
        changes += [".".join(next(_paths(part))) for part in added]
        yield ValuesCase(f"changed values ({', '.join(filter(None, changes))})", values, False)


def _accepted(chart: Path, whole: Body, made: Body, parts: Sequence[Body], target: Target) -> Body:
    """Return values with the parts that the chart renders with them."""
    wanted = reduce(merge, parts, made)
    if not parts or _renders(chart, merge(whole, wanted), target):
        return wanted
    half = len(parts) // 2
    if half:
        for some in (parts[:half], parts[half:]):
            made = _accepted(chart, whole, made, some, target)
    return made


def _sample(path: Sequence[str], is_list: bool) -> Json:
    """Return a value for a path at which the chart has none."""
    if path[-1] == "exclude":
        return _EXCLUSION
    return list(_WORDS[:2]) if is_list else _WORDS[0]


def _at(values: Json, path: Sequence[str]) -> Json:
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _paths(values: Body) -> Iterator[tuple[str, ...]]:
    for key, inner in values.items():
        yield from ((key, *path) for path in _paths(inner)) if isinstance(inner, dict) else [(key,)]


def _renders(chart: Path, values: Body, target: Target) -> bool:
    try:
        render(chart, values, target)
    except ChartkitError:
        return False
    return True


def _filled(value: Body) -> Iterator[Body]:
    """Yield texts for each list that is empty."""
    for key, item in value.items():
        if item == []:
            yield {key: list(_WORDS[:2])}
        elif isinstance(item, dict):
            yield from ({key: inner} for inner in _filled(item))


def _nested(path: Sequence[str], value: Json) -> Json:
    return {path[0]: _nested(path[1:], value)} if path else value


def _enabled(value: Body) -> Body:
    made: Body = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            made[key] = _enabled(inner)
        elif key in ("enabled", "enable") and isinstance(inner, bool):
            made[key] = True
    return {key: inner for key, inner in made.items() if inner != {}}


def _changed(
    values: Body, chance: random.Random, decisive: Collection[tuple[str, ...]]
) -> list[str]:
    """Change values in place, and return their paths; decisive: the paths of every other one."""
    leaves = list(_leaves(values, ())) or [("", dict[str, Json](), "")]
    likely = [leaf for leaf in leaves if tuple(leaf[0].split(".")) in decisive]
    paths = []
    for _ in range(_CHANGES):
        is_likely = likely and chance.random() < _LIKELY
        path, holder, key = chance.choice(likely if is_likely else leaves)
        _change(holder, key, chance)
        paths.append(path)
    return paths


def _change(holder: Body, key: str, chance: random.Random) -> None:
    value = holder.get(key)
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        size = chance.randint(0, len(value))
        others = next((letters for letters in _OTHERS if value and {*value} <= {*letters}), _WORDS)
        holder[key] = [*chance.sample(value, size), *chance.sample(others, chance.randint(0, 2))]
    elif isinstance(value, str):
        other = next((pair for pair in _CHOICES if value in pair), _WORDS)
        holder[key] = chance.choice(other)
    elif isinstance(value, int):
        holder[key] = chance.randint(1, 30)


def _leaves(value: Body, path: tuple[str, ...]) -> Iterator[tuple[str, Body, str]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, (*path, key))
        elif inner is not None and key != SWITCH:
            yield ".".join((*path, key)), value, key


Agree = Callable[[Resource, Sequence[Resource], Conversion], str]
"""A function that asks two forms about the same requests, and returns their difference."""


@dataclass(slots=True)
class ChartProof:
    """The proof of a chart. old, new: its folder before and after; forms: the new ones, by the path
    of their template in the chart; wide: the target with every API that templates ask for, for
    values that are not the user's; agree: None where nothing is proved by requests; proved:
    templates whose policies have been, with the chart's values, by their conversion; differing:
    policies that stay, by kind and name, with the reason; rendered, asked: the forms that any
    values rendered, and those of which requests were asked; refusal: why Helm takes no values;
    legacy: the chart's exceptions and policies with any values; excepted: the policies that forms
    of exceptions name; apart: the policies whose rules have policies of their own; policies, batch,
    names: the old forms with the values at hand, what converts them, and the names of the new ones.
    """

    old: Path
    new: Path
    forms: Mapping[str, Sequence[NewForm]]
    target: Target
    wide: Target
    agree: Agree | None
    proved: set[str]
    differing: Mapping[str, str]
    rendered: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    refusal: str = ""
    legacy: Sequence[Resource] = ()
    excepted: dict[int, set[str]] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    policies: Sequence[Resource] = ()
    batch: Batch = field(default_factory=lambda: Batch([]))
    names: Collection[str] = ()

    def differences(self, values: Iterable[ValuesCase]) -> list[tuple[NewForm, str]]:
        """Return the forms that differ from the converted old form, each with the reason."""
        reasons: dict[int, str] = {}
        with temporary_folder() as parent:
            copy = parent / self.new.name
            shutil.copytree(self.new, copy, symlinks=True)
            for file in copy.rglob("*"):
                if file.is_file() and file.suffix in (".yaml", ".yml", ".tpl"):
                    text = file.read_bytes().decode("utf-8", "surrogateescape")
                    if _FAIL.search(text):
                        text = _FAIL.sub(lambda _: _PRINT, text)
                        file.write_bytes(text.encode("utf-8", "surrogateescape"))
            for case in values:
                for form, reason in self._case(copy, case):
                    reasons.setdefault(id(form), f"{reason}, with {case.name}")
            for key, names in self.excepted.items():
                for name in names & self.apart:
                    reasons.setdefault(key, _APART.format(name=name))
        unknown = self.refusal if not self.rendered else ""
        everything = [form for forms in self.forms.values() for form in forms]
        if not reasons:
            reason = f"Helm refuses the chart: {unknown}" if unknown else _UNRENDERED
            reasons = {id(form): reason for form in everything if id(form) not in self.rendered}
        return [(form, reasons[id(form)]) for form in everything if reasons.get(id(form))]

    def _case(self, new: Path, case: ValuesCase) -> Iterator[tuple[NewForm, str]]:
        target = self.target if case.is_own else self.wide
        try:
            legacy = render(self.old, case.values, target)
        except ChartkitError as error:
            self.refusal = self.refusal or error.message
            return  # values that the chart refuses
        try:
            renders = [render(new, merge(case.values, {SWITCH: kind}), target) for kind in _KINDS]
        except ChartkitError as error:
            named = [name for name in self.forms if name in f"{error.message} {error.location}"]
            for template in named or self.forms:
                for form in self.forms[template]:
                    yield form, f"Helm refuses the new form: {error.message}"
            return
        everything = [Resource(body) for bodies in legacy.values() for body in bodies]
        self.policies = [resource for resource in everything if is_legacy(resource)]
        there = {_id(resource.body) for resource in self.policies}
        others = (resource for resource in self.legacy if _id(resource.body) not in there)
        self.batch = Batch([*self.policies, *others])
        self.names = {_id(body) for bodies in renders[1].values() for body in bodies}
        for template in self.forms:
            forms = [objects.get(template, ()) for objects in renders]
            yield from self._difference(template, legacy.get(template, ()), forms, case)

    def _difference(
        self,
        template: str,
        old: Sequence[Body],
        new: Sequence[Sequence[Body]],
        case: ValuesCase,
    ) -> Iterator[tuple[NewForm, str]]:
        """Yield the differences of a template's old forms and its new ones. A new form may refuse
        no values of the chart and of files."""
        # A named template may print nothing behind the number of a form.
        as_old, as_new, as_both = (
            [body for body in bodies if {*body} - {NUMBER}] for bodies in new
        )
        everywhere, forms = self.forms[template], list[NewForm | None]()
        for body in as_old:
            number = body.pop(NUMBER, None)
            forms.append(None if number is None else everywhere[number])
        if list(old) != list(as_old):
            yield from ((form, "the old form changes") for form in everywhere)
            return
        refused = [str(body[_REFUSED]) for body in as_new if _REFUSED in body]
        if not refused and _REFUSED in json.dumps(as_new):
            refused = ["an exclusion"]
        in_cel = [
            {_id(body): body for body in bodies if group_of(Resource(body)) == CEL_GROUP}
            for bodies in (as_old, as_new)
        ]
        made = {key: body for key, body in in_cel[1].items() if key not in in_cel[0]}
        is_whole = not refused
        for form, resource in zip(forms, map(Resource, old), strict=True):
            if form is None or not is_legacy(resource):
                is_whole = is_whole and (form is None or case.is_own)  # values are its apiVersion
                continue
            stopped = self._stopped(form, everywhere, refused)
            if stopped:
                is_asked = case.name == _EVERYTHING and not stopped.endswith(NULL)
                if case.is_own or (is_asked and _converts(resource, self.batch)):
                    yield form, stopped
                continue
            self.apart |= {policy_key(resource)} if form.is_each else set()
            asked = [
                self._policy(template, form, single, made, case)
                for single in (by_rule(resource) if form.is_each else [resource])
            ]
            reason = next(filter(None, asked), "")
            is_whole = is_whole and not any(single is None for single in asked) and not reason
            if reason:
                yield form, reason
        if made and is_whole:
            reason = f"the new form has {', '.join(made)}, which the old one does not become"
            yield from ((form, reason) for form in everywhere)
        actions = [mapping_at(body, "spec").get("validationActions") for body in as_both]
        if any(action not in (None, ["Audit"]) for action in actions):
            yield from ((form, "policyType both enforces the new form") for form in everywhere)

    def _stopped(self, form: NewForm, forms: Sequence[NewForm], refused: Sequence[str]) -> str:
        """Return why Helm refuses values for a form; empty where it does not."""
        for text in refused:
            reason = text.removesuffix(f" ({SWITCH})")
            if reason in form.refused or not any(reason in other.refused for other in forms):
                return reason
        return ""

    def _policy(
        self,
        template: str,
        form: NewForm,
        legacy: Resource,
        made: dict[str, Body],
        case: ValuesCase,
    ) -> str | None:
        """Return how a policy's new form differs, empty for not at all; None for a policy that
        Kyverno does not take whole."""
        self.rendered.add(id(form))
        if template in self.proved and case.name == _DEFAULTS:
            self.asked.add(id(form))
        try:
            conversion = self.batch.convert(legacy)
        except CompileError:
            return None
        except ChartkitError as error:
            return error.message
        accepted = conversion.accepted or legacy
        if len(legacy_rules(accepted)) < len(legacy_rules(legacy)):
            return None
        if (
            any(outcome.reason.startswith(REFUSED) for outcome in conversion.outcomes)
            and not case.is_own
        ):
            return None
        reason = self._compared(form, conversion, made)
        return reason or self.differing.get(f"{legacy.kind}/{legacy.name}", "")

    def _compared(self, form: NewForm, conversion: Conversion, made: dict[str, Body]) -> str:
        """Return how a policy's conversion differs from its form among made, which is taken out."""
        for outcome in conversion.outcomes:
            if outcome.reason:
                return outcome.reason
        wanted = {_id(body): body for body in conversion.documents}
        if not made.keys() >= wanted.keys():
            return f"the new form lacks {', '.join(wanted.keys() - made.keys())}"
        forms = {key: made.pop(key) for key in wanted}
        pairs = [(normal_policy(wanted[key]), normal_policy(forms[key])) for key in wanted]
        places = [_where(own, other, "") for own, other in pairs if own != other]
        reason = f"the new form differs at {places[0]}" if places else ""
        if is_exception(conversion.legacy):
            return reason or self._missing(form, conversion.legacy)
        if self.agree is None or (not reason and id(form) in self.asked):
            return reason
        if reason and any(_outline(wanted[key]) != _outline(forms[key]) for key in wanted):
            return reason
        self.asked.add(id(form))
        return self.agree(conversion.legacy, list(map(Resource, forms.values())), conversion)

    def _missing(self, form: NewForm, exception: Resource) -> str:
        """Return which policy of those that an exception names the new form has otherwise."""
        for policy in self.policies:
            if excepts(exception, policy_key(policy)):
                self.excepted.setdefault(id(form), set()).add(policy_key(policy))
                for body in self.batch.convert(policy).documents:
                    if _id(body) not in self.names:
                        return f"the new form of {policy.name} has another name than {_id(body)}"
        return ""


_KINDS: Final = ("ClusterPolicy", VALIDATING, "both")


def _converts(legacy: Resource, batch: Batch) -> bool:
    """Report whether a policy converts whole."""
    try:
        return batch.convert(legacy).complete
    except ChartkitError:
        return False


def _outline(policy: Body) -> Json:
    """Return a policy without its expressions, which requests are asked about."""

    def without(value: Json) -> Json:
        if isinstance(value, dict):
            kept = {key: item for key, item in value.items() if key not in (*CEL, "variables")}
            return {key: without(item) for key, item in kept.items()}
        return list(map(without, value)) if isinstance(value, list) else value

    return normal_policy(without(policy))


def _id(body: Body) -> str:
    return resource_id(Resource(body))


def _where(first: Json, second: Json, path: str) -> str:
    """Return the path of the first difference."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in [*first, *second]:
            if first.get(key) != second.get(key):
                return _where(first.get(key), second.get(key), f"{path}/{key}")
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, (mine, yours) in enumerate(zip(first, second, strict=True)):
            if mine != yours:
                return _where(mine, yours, f"{path}/{index}")
    return f"{path}: {json.dumps(first)} and {json.dumps(second)}"
