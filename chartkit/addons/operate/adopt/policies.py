"""The policies in use as a library of the project's own: one text for all environments, and the
settings, such as actions and exclusions, by which an environment's own differs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.addons.operate.adopt.model import (
    Estate,
    Outcome,
    Piece,
    Row,
    Substitute,
    plain,
    text_of,
)
from chartkit.engine import AUDIT, ENFORCE, compile_any
from chartkit.engine.kubernetes.kinds import is_binding
from chartkit.errors import CompileError, InputError
from chartkit.go.fmt import go_json
from chartkit.library import upstream
from chartkit.library.upstream import UpstreamLibrary
from chartkit.model import Body, Json, Resource, mapping_at, mappings_at
from chartkit.output.atomic_folder import write_below
from chartkit.project.settings import Action
from chartkit.render.compare.fields import compare
from chartkit.temporary import temporary_folder
from chartkit.wording import abridged, counted

_NARROWING: Final = frozenset(("namespaces", "kinds", "names", "selector", "namespaceSelector"))
"""The fields of Kyverno's resource descriptions that `exclude` of chartkit.yaml takes."""
LIBRARY: Final = "policies"
"""The folder of the project that has the policies, each in a folder of its name."""
SubstituteFinder = Callable[[Mapping[str, Piece]], Substitute | None]
"""Finds the policy of a library that means the same as each environment's variant."""
_OF_SPEC: Final = ("validationFailureAction", "validationFailureActionOverrides")
_OF_RULE: Final = ("failureAction", "failureActionOverrides")
_WHERE: Final = frozenset(("namespaces", "namespaceSelector"))
_OVERRIDE: Final = _WHERE | {"action"}
_OF_CEL: Final = "validationActions"


def settings_for(base: Body, variant: Body) -> Body | None:
    """Return the settings that turn a policy into a variant of it; None if no settings do."""
    first, second = plain(base), plain(variant)
    if first == second:
        return {}
    if any(first.get(key) != second.get(key) for key in ("apiVersion", "kind")):
        return None
    settings: Body = {}
    if described_actions(first) != described_actions(second):
        actions = None if _overrides(first) else action_settings(second)
        if actions is None:
            return None
        settings |= actions
    excluded = _exclusions(first, second)
    if excluded is None or without_settings(first) != without_settings(second):
        return None
    return settings | ({"exclude": excluded} if excluded else {})


def described(settings: Body) -> str:
    """Return settings in words; empty for none."""
    parts = []
    if "action" in settings:
        where = "everywhere else" if "actions" in settings else "everywhere"
        parts.append(f"{settings['action']} {where}")
    for action in settings.get("actions") or ():
        where = ", ".join(action.get("namespaces") or ()) or "namespaces of its selector"
        parts.append(f"{action['action']} in {where}")
    for name, value in (settings.get("parameters") or {}).items():
        parts.append(f"{name}: {go_json(value)}")
    if excluded := settings.get("exclude"):
        parts.append(f"{counted(len(excluded), 'exclusion')} more")
    return ", ".join(parts)


def without_settings(body: Body) -> Body:
    """Return the spec of a policy without its actions and exclusions."""
    spec = copy.deepcopy(without_actions(body))
    for rule in mappings_at(spec, "rules"):
        if _blocks(rule) is not None:
            rule.pop("exclude", None)
    return spec


def _exclusions(base: Body, variant: Body) -> list[Body] | None:
    """Return the additional exclusions that all rules of a variant share; None where rules differ,
    and where `exclude` cannot express them."""
    exclusions: list[list[Body]] = []
    rules = [mappings_at(body, "spec", "rules") for body in (base, variant)]
    for own, other in zip(*rules, strict=False):
        before, after = _blocks(own), _blocks(other)
        if before is None or after is None:
            if own.get("exclude") != other.get("exclude"):
                return None
            exclusions.append([])
            continue
        if after[: len(before)] != before:
            return None
        exclusions.append(after[len(before) :])
    more = exclusions[0] if exclusions else []
    return None if any(blocks != more for blocks in exclusions) else as_exclusions(more)


def excluded_by_all(body: Body) -> list[Body] | None:
    """Return the exclusions that all rules of a policy share; None where rules differ, and where
    `exclude` cannot express them."""
    blocks = [_blocks(rule) for rule in mappings_at(body, "spec", "rules")]
    first = blocks[0] if blocks else []
    return None if first is None or any(own != first for own in blocks) else as_exclusions(first)


def as_exclusions(blocks: Sequence[Body]) -> list[Body] | None:
    """Return blocks of Kyverno's `exclude.any` as chartkit.yaml has them; None where it cannot."""
    if not all(map(_is_setting, blocks)):
        return None
    return [mapping_at(block, "resources") for block in blocks]


def _blocks(rule: Body) -> list[Body] | None:
    """Return the `any` blocks of an exclusion; None where it has another form."""
    exclude = rule.get("exclude") or {}
    if not isinstance(exclude, dict) or not exclude.keys() <= {"any"}:
        return None
    return mappings_at(exclude, "any")


def _is_setting(block: Body) -> bool:
    resources = mapping_at(block, "resources")
    return block.keys() == {"resources"} and bool(resources) and resources.keys() <= _NARROWING


@dataclass(slots=True)
class AdoptedPolicy:
    """A policy of the project's library.

    bindings: of a policy of Kubernetes' own; variants: as it is in each environment that has it;
    settings: what chartkit.yaml says of it there; same_as: the policies of other libraries that
    mean the same; replaced_by: the policy of another library that takes its place.
    """

    piece: Piece
    bindings: tuple[Piece, ...]
    variants: dict[str, Piece] = field(default_factory=dict)
    settings: dict[str, Body] = field(default_factory=dict)
    same_as: tuple[str, ...] = ()
    replaced_by: str = ""

    @property
    def name(self) -> str:
        return self.piece.resource.name

    @property
    def reference(self) -> str:
        return self.replaced_by or self.name

    @property
    def file(self) -> str:
        """Its file in the project, under a name that chartkit's own format does not use."""
        file = f"{self.name}.yaml"
        file = f"{self.piece.resource.kind.lower()}.yaml" if file in upstream.OWN_FORMAT else file
        return f"{LIBRARY}/{self.name}/{file}"

    @property
    def text(self) -> str:
        """The text of its file."""
        return "---\n".join(text_of(piece) for piece in (self.piece, *self.bindings))


@dataclass(slots=True)
class PolicyInventory:
    """policies: by name, in the order in which they were found; rows: what became of each."""

    policies: dict[str, AdoptedPolicy] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


def take_policies(estates: Sequence[Estate], find_substitute: SubstituteFinder) -> PolicyInventory:
    """Return the policies that a project can have, with a row for each that it cannot;
    find_substitute: called with the variants of a policy that no settings make."""
    inventory = PolicyInventory()
    for estate in estates:
        bindings = [piece for piece in estate.policies if is_binding(piece.resource)]
        seen: dict[str, Piece] = {}
        for piece in estate.policies:
            if not is_binding(piece.resource):
                bound = tuple(binding for binding in bindings if _binds(binding, piece))
                _take(piece, bound, estate, seen, inventory)
        for binding in bindings:
            if not any(_binds(binding, piece) for piece in estate.policies):
                message = "binds a policy that was not found"
                hint = "name the file of its policy as well"
                inventory.rows.append(binding.row(Outcome.LEFT, message, hint, estate.name))
    for policy in inventory.policies.values():
        inventory.rows += _settle(policy, find_substitute)
    # Take out the policies that a library cannot have, with a row for each
    own = [policy for policy in inventory.policies.values() if not policy.replaced_by]
    with temporary_folder() as parent:
        write_below(parent, {adopted_policy.file: adopted_policy.text for adopted_policy in own})
        library = UpstreamLibrary(LIBRARY, parent / LIBRARY)
        for policy in own:
            reason = _unusable(library, policy.name, parent)
            if reason is not None:
                del inventory.policies[policy.name]
                inventory.rows.append(policy.piece.row(Outcome.LEFT, *reason))
    for policy in inventory.policies.values():
        inventory.rows += _taken(policy, [estate.name for estate in estates])
    return inventory


def _take(
    piece: Piece,
    bindings: tuple[Piece, ...],
    estate: Estate,
    seen: dict[str, Piece],
    inventory: PolicyInventory,
) -> None:
    """Add a policy of an estate to the library, or a row."""
    name = piece.resource.name
    if (reason := _refusal(piece.resource)) is not None:
        inventory.rows.append(piece.row(Outcome.LEFT, *reason, estate.name))
        return
    other = seen.setdefault(name, piece)
    if other is not piece:
        if plain(other.resource.body) != plain(piece.resource.body):
            here, there = piece.resource.location, other.resource.location
            message = f"another policy of this name is in use: {other.subject}, {there}"
            hint = "a chart names policies by their name alone: give one of them another"
            if here.overlay and there.overlay and here.overlay != there.overlay:
                message = f"the overlay {here.overlay} builds another one than {there.overlay}"
                hint = "name each overlay as an environment by --env NAME=PATH"
            inventory.rows.append(piece.row(Outcome.LEFT, message, hint, estate.name))
        return
    policy = inventory.policies.get(name)
    if policy is None:
        inventory.policies[name] = AdoptedPolicy(piece, bindings, {estate.name: piece})
    else:
        policy.variants[estate.name] = piece


def _settle(policy: AdoptedPolicy, find_substitute: SubstituteFinder) -> Iterator[Row]:
    """Choose the variant that settings turn into the others, or a library's policy that means the
    same as all of them, and yield a row for each variant that is left over."""
    first, *others = policy.variants.values()
    made = {id(piece): _made_of(piece, policy.variants) for piece in (first, *others)}
    policy.piece = max((first, *others), key=lambda piece: len(made[id(piece)]))
    policy.settings = made[id(policy.piece)]
    base = next(name for name, piece in policy.variants.items() if piece is policy.piece)
    missing = policy.variants.keys() - policy.settings.keys()
    substitute = find_substitute(policy.variants) if missing else None
    if substitute is not None:
        yield from _replaced(policy, substitute)
        return
    for name in [variant for variant in policy.variants if variant not in policy.settings]:
        piece = policy.variants.pop(name)
        message = f"differs from that of {base}, which the project has, in {_fields(policy, piece)}"
        hint = "make both alike, or give one of them another name"
        yield piece.row(Outcome.LEFT, message, hint, name)


def _replaced(policy: AdoptedPolicy, other: Substitute) -> Iterator[Row]:
    """Put a policy of a library in the place of one in use, with a row for each environment."""
    given = (mapping_at(setting, "parameters") for setting in other.settings.values())
    names = " and ".join(dict.fromkeys(str(name) for parameters in given for name in parameters))
    message = (
        f"→ {other.reference}, which means the same with {names} of each environment: no request "
        "was found that shows a difference"
    )
    hint = "its rules and messages have other names and words: `chartkit diff` shows each"
    yield policy.piece.row(Outcome.TAKEN, message, hint)
    for name, piece in list(policy.variants.items()):
        resource = replace(piece.resource, body=other.bodies[name])
        policy.variants[name] = replace(piece, resource=resource, text="")
    policy.settings = dict(other.settings)
    policy.replaced_by = other.reference


def _made_of(base: Piece, variants: Mapping[str, Piece]) -> dict[str, Body]:
    """Return the settings, by environment, that turn the base into its variant there."""
    settings_of = {
        name: settings_for(base.resource.body, piece.resource.body)
        for name, piece in variants.items()
    }
    return {name: settings for name, settings in settings_of.items() if settings is not None}


def _fields(policy: AdoptedPolicy, variant: Piece) -> str:
    """Return the fields in which a variant differs, as people write them."""
    before, after = (Resource(plain(piece.resource.body)) for piece in (policy.piece, variant))
    names = [field.name for change in compare([before], [after]) for field in change.fields]
    return abridged(names) or "its kind"


def _refusal(resource: Resource) -> tuple[str, str] | None:
    """Return the reason why a policy cannot be taken, and what to do; None if it can."""
    if not upstream.is_policy({**resource.body, "spec": {}}):
        return "no chart of chartkit's carries this kind", "go on installing it as you do now"
    if resource.name and not upstream.is_policy_name(resource.name):
        return f"'{resource.name}' cannot be the name of a policy in a chart", "give it another"
    try:
        compile_any(resource)
    except CompileError as error:
        more = f" (and {len(error.diagnostics) - 1} more)" if len(error.diagnostics) > 1 else ""
        return f"Kyverno refuses it: {error.message}{more}", error.hint or "correct it"
    return None


def _binds(binding: Piece, policy: Piece) -> bool:
    named = mapping_at(binding.resource.body, "spec").get("policyName")
    kind = f"{policy.resource.kind}Binding"
    return bool(binding.resource.kind == kind and named == policy.resource.name)


def _unusable(library: UpstreamLibrary, name: str, parent: Path) -> tuple[str, str] | None:
    """Return the reason why a library does not accept a policy, and what to do; None if it does."""
    try:
        usable = library.find(name)
    except InputError as error:
        return error.message.replace(f"{parent}/", ""), error.hint or ""
    if len(usable) == 1:
        return None
    return "cannot be a policy of a library", "name it as Kubernetes names objects"


def _taken(policy: AdoptedPolicy, environments: Sequence[str]) -> Iterator[Row]:
    """Yield the rows about a policy that the project has."""
    from chartkit.addons.migrate.plan.origin import Tool, origin_of

    piece = policy.piece
    actions = described_actions(piece.resource.body)
    if not policy.replaced_by:
        message = f"→ {policy.file}" + (f"; its own action stays: {actions}" if actions else "")
        yield piece.row(Outcome.TAKEN, message)
    for name, settings in policy.settings.items():
        if settings:
            yield piece.row(Outcome.TAKEN, described(settings), "", name)
    missing = [name for name in environments if name not in policy.variants]
    if missing:
        message = f"is switched off in {', '.join(missing)}, which did not have it"
        yield piece.row(Outcome.TAKEN, message)
    origin = origin_of(piece.resource, piece.chart)
    if origin.tool in (Tool.HELM, Tool.ARGO_CD, Tool.FLUX):
        message = f"is still installed by {origin}"
        hint = "take it out there without deleting the policy, before chartkit's chart has it"
        yield piece.row(Outcome.NOTE, message, hint)


def settings_of(
    policies: Iterable[AdoptedPolicy], environment: str
) -> Mapping[str, dict[str, object]]:
    """Return the settings of single policies in an environment, by name."""
    settings: dict[str, dict[str, object]] = {}
    for policy in policies:
        if environment not in policy.variants:
            settings[policy.name] = {"enabled": False}
        elif own := policy.settings[environment]:
            settings[policy.name] = dict(own)
    return settings


def without_actions(body: Body) -> Body:
    """Return the spec of a policy without its actions."""
    spec = copy.deepcopy(mapping_at(body, "spec"))
    for holder, keys in _holders(spec):
        for key in keys:
            holder.pop(key, None)
    return spec


def action_settings(body: Body) -> Body | None:
    """Return the settings of chartkit.yaml for the actions of a policy; None where its rules
    differ, and where settings cannot express them."""
    actions = set(_actions(body))
    # The overrides that hold for all rules; None where rules have their own.
    spec = mapping_at(body, "spec")
    overrides = [mappings_at(spec, _OF_SPEC[1])] if spec.get(_OF_SPEC[1]) else []
    for rule in mappings_at(spec, "rules"):
        own = mappings_at(rule, "validate", _OF_RULE[1])
        if own or not overrides:
            overrides.append(own)
    given = overrides[0] if all(listed == overrides[0] for listed in overrides) else None
    if len(actions) != 1 or given is None:
        return None
    entries = as_entries(given)
    if entries is None:
        return None
    settings: Body = {"action": str(Action(actions.pop()))}
    return settings | ({"actions": entries} if entries else {})


def as_entries(overrides: Sequence[Body]) -> list[Json] | None:
    """Return Kyverno's overrides as `actions` of chartkit.yaml; None if they do not fit it."""
    if not all(override.keys() <= _OVERRIDE and override.keys() & _WHERE for override in overrides):
        return None
    return [{**override, "action": as_action(override.get("action"))} for override in overrides]


def described_actions(body: Body) -> str:
    """Return the actions of a policy in words; empty for one that validates nothing."""
    actions = " and ".join(sorted(set(_actions(body))))
    if not actions:
        return ""
    parts = [actions]
    for entry in _overrides(body):
        names = ", ".join(map(str, entry.get("namespaces") or ())) or "namespaces of its selector"
        parts.append(f"{as_action(entry.get('action'))} in {names}")
    return ", ".join(dict.fromkeys(parts))


def _holders(spec: Body) -> Iterator[tuple[Body, tuple[str, ...]]]:
    yield spec, (*_OF_SPEC, _OF_CEL)
    for rule in mappings_at(spec, "rules"):
        yield mapping_at(rule, "validate"), _OF_RULE
        for image in mappings_at(rule, "verifyImages"):
            yield image, _OF_RULE


def _actions(body: Body) -> Iterator[str]:
    spec = mapping_at(body, "spec")
    if "validations" in spec or _OF_CEL in spec:
        given = spec.get(_OF_CEL) or ["Deny"]
        yield ENFORCE if "Deny" in given else AUDIT
        return
    default = spec.get("validationFailureAction")
    for rule in mappings_at(spec, "rules"):
        for holder in [mapping_at(rule, "validate"), *mappings_at(rule, "verifyImages")]:
            if holder:
                yield as_action(holder.get("failureAction") or default)


def _overrides(body: Body) -> list[Body]:
    spec = mapping_at(body, "spec")
    overrides = mappings_at(spec, "validationFailureActionOverrides")
    for rule in mappings_at(spec, "rules"):
        overrides += mappings_at(rule, "validate", "failureActionOverrides")
    return overrides


def as_action(value: object) -> str:
    """Return an action as chartkit.yaml writes it."""
    return ENFORCE if str(value).lower() == ENFORCE.lower() else AUDIT
