"""Rules for pod controllers, made from rules for Pods as Kyverno's `pkg/autogen/v1` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy, Rule, read_rule
from chartkit.engine.kubernetes.kinds import CONTROLLERS, CRON_JOB, CRON_TEMPLATE, TEMPLATE
from chartkit.model import Body, FieldPath, Json
from chartkit.schemas.kind_selectors import is_version

ANNOTATION: Final = "pod-policies.kyverno.io/autogen-controllers"

_KINDS: Final = {
    each.kind: "/".join(filter(None, (each.group, each.version, each.kind))) for each in CONTROLLERS
}
_TEMPLATED: Final = frozenset(_KINDS) - {CRON_JOB}
_PREFIX: Final = "autogen"
_CRON_PREFIX: Final = "autogen-cronjob"
_NAME_LENGTH: Final = 63

Replacements = tuple[tuple[str, str], ...]


def controllers(policy: Policy) -> frozenset[str]:
    """Return the kinds that the policy's rules are extended to; empty without autogen."""
    if next(unextended(policy.rules), None) is not None:
        return frozenset()
    annotation = policy.annotations.get(ANNOTATION)
    if annotation is None:
        return frozenset(_KINDS)
    return frozenset(annotation.split(",")) - {"none"}


def is_extendable(kind: str) -> bool:
    """Report whether objects of a kind hold Pods, so that rules for Pods may be extended to it."""
    return kind in _KINDS


def written_name(rule: str) -> str:
    """Return the name of the rule that a rule for pod controllers was made from."""
    return rule.removeprefix(f"{_CRON_PREFIX}-").removeprefix(f"{_PREFIX}-")


def form_names(rule: str) -> tuple[str, str]:
    """Return the names of a written rule's forms for pod controllers."""
    return _extended_name(_PREFIX, rule), _extended_name(_CRON_PREFIX, rule)


def added_keys(rule: str) -> tuple[str, ...]:
    """Return the keys that a form, by its name, has around the written patterns; none for a written
    rule."""
    if rule.startswith(f"{_CRON_PREFIX}-"):
        return ("spec", "jobTemplate", "spec", "template")
    return ("spec", "template") if rule.startswith(f"{_PREFIX}-") else ()


def rules_for_kind(policy: Policy, extended: frozenset[str], kind: str) -> tuple[Rule, ...]:
    """Return the rules for objects of a kind; extended: what `controllers` gave."""
    return _compute(policy.rules, kind) if kind in extended else policy.rules


def all_rules(policy: Policy) -> tuple[Rule, ...]:
    """Every rule, with those for each of the controllers at once, as Kyverno checks and lists."""
    extended = controllers(policy)
    return _compute(policy.rules, ",".join(sorted(extended))) if extended else policy.rules


def unextended(rules: Sequence[Rule]) -> Iterator[tuple[int, FieldPath, str]]:
    """Yield why a policy's rules are not extended to pod controllers: the index of a rule, the
    field of it, and the reason; nothing where they are."""
    needed = False
    for index, rule in enumerate(rules):
        if rule.generate:
            yield index, ("generate",), "a rule of the policy generates"
        if not rule.mutate:
            has_json_patch = False
        else:
            has_json_patch = bool(rule.mutate.get("patchesJson6902")) or any(
                loop.get("patchesJson6902") for loop in rule.mutate.get("foreach") or ()
            )
        if has_json_patch:
            yield index, ("mutate",), "a rule of the policy mutates with patchesJson6902"
        for path, block in rule.filters():
            special = {
                "name": bool(block.name),
                "names": bool(block.names),
                "selector": block.selector is not None,
                "annotations": block.annotations is not None,
            }
            for key, is_given in special.items():
                if is_given:
                    yield index, (*path, "resources", key), f"a filter of the policy names {key}"
            if len(block.kinds) > 1 and _has_kind(block.kinds, "Pod"):
                kinds = (*path, "resources", "kinds")
                yield index, kinds, "a filter of the policy names further kinds beside Pod"
            needed = needed or any(kind == "Pod" or kind in _KINDS for kind in block.kinds)
    if not needed:
        yield 0, ("match",), "no filter of the policy names just Pod"


def _compute(rules: Sequence[Rule], kinds: str) -> tuple[Rule, ...]:
    made = [extra for rule in rules for extra in _extensions(rule, kinds)]
    if not made:
        return tuple(rules)
    kept = [rule for rule in rules if not rule.name.startswith(f"{_PREFIX}-")]
    return (*kept, *made)


def _extensions(rule: Rule, kinds: str) -> Iterable[Rule]:
    others = ",".join(kind for kind in sorted(kinds.split(",")) if kind != CRON_JOB)
    body = _for_controllers(rule, others)
    if body is not None:
        yield _finish(rule, body, cron=False)
    if CRON_JOB in kinds or "all" in kinds:
        body = _for_controllers(rule, kinds)
        if body is not None:
            name = _extended_name(_CRON_PREFIX, rule.name)
            body = _extend(body, name, "jobTemplate", (CRON_JOB,), lambda _kinds: True)
        if body is not None:
            yield _finish(rule, body, cron=True)


def _finish(rule: Rule, body: Body, *, cron: bool) -> Rule:
    root = "request." if (body.get("validate") or {}).get("cel") is None else ""
    kept = {key: value for key, value in body.items() if key in _CARRIED}
    template = CRON_TEMPLATE if cron else TEMPLATE
    paths = tuple(
        (f"{root}{what}.{part}", f"{root}{what}.{template}.{part}")
        for part in ("spec", "metadata")
        for what in ("object", "oldObject")
    )
    return read_rule(_rewrite(kept, paths), rule.location)


_CARRIED: Final = frozenset(
    (
        *("name", "match", "exclude", "celPreconditions", "context", "preconditions", "mutate"),
        *("validate", "verifyImages", "skipBackgroundRequests", "reportProperties"),
    )
)


def _for_controllers(rule: Rule, kinds: str) -> Body | None:
    if rule.name.startswith(f"{_PREFIX}-") or not kinds:
        return None
    excluded = rule.exclude.kinds if rule.exclude else ()
    if not _has_kind(rule.match.kinds, "Pod") or (excluded and not _has_kind(excluded, "Pod")):
        return None
    named = sorted(kinds.split(","))
    fitting = [kind for kind in named if kind in _TEMPLATED]
    name = _extended_name(_PREFIX, rule.name)
    return _extend(
        rule.body, name, "template", tuple(fitting or named), lambda kinds: _has_kind(kinds, "Pod")
    )


def _extended_name(prefix: str, name: str) -> str:
    return f"{prefix}-{name}"[:_NAME_LENGTH]


def _extend(
    body: Body,
    name: str,
    key: str,
    kinds: tuple[str, ...],
    replaced: Callable[[Sequence[str]], bool],
) -> Body | None:
    """Return the rule for controllers with the Pod under `spec.<key>`; None for a rule without such
    a form. replaced: whether a filter with these kinds gets the controllers' kinds."""
    selectors = [_KINDS.get(kind, kind) for kind in kinds]
    action = _extended_action(body, key)
    if action is None:
        return None
    made = {**body, **action, "name": name}
    if "preconditions" in body:
        made["preconditions"] = _rewritten(body["preconditions"])
    made["match"] = _extended_match(body.get("match") or {}, selectors, replaced, always=True)
    if body.get("exclude"):
        made["exclude"] = _extended_match(body["exclude"], selectors, replaced, always=False)
    return made


def _extended_match(
    block: Body, selectors: list[str], replaced: Callable[[Sequence[str]], bool], *, always: bool
) -> Body:
    for key in ("any", "all"):
        if block.get(key):
            filters = [
                _with_kinds(entry, selectors) if replaced(_kinds_of(entry)) else entry
                for entry in block[key]
            ]
            return {**block, key: filters}
    return _with_kinds(block, selectors) if always or _kinds_of(block) else block


def _kinds_of(resource_filter: Body) -> Sequence[str]:
    return (resource_filter.get("resources") or {}).get("kinds") or ()


def _with_kinds(block: Body, selectors: list[str]) -> Body:
    return {**block, "resources": {**(block.get("resources") or {}), "kinds": selectors}}


def _extended_action(body: Body, key: str) -> Body | None:
    """Return the part of the rule's action that goes into the rule for controllers."""
    mutate = body.get("mutate")
    if mutate and mutate.get("patchStrategicMerge") is not None:
        return {"mutate": {"patchStrategicMerge": _under(key, mutate["patchStrategicMerge"])}}
    if mutate and mutate.get("foreach"):
        return {"mutate": {"foreach": [_extended_foreach(loop, key) for loop in mutate["foreach"]]}}
    if validate := body.get("validate"):
        extended = _extended_validate(validate, key)
        if extended is not None:
            return {"validate": extended}
    return {} if body.get("verifyImages") is not None else None


def _extended_foreach(loop: Body, key: str) -> Body:
    kept: Body = {name: loop[name] for name in ("list", "context", "preconditions") if name in loop}
    return {**kept, "patchStrategicMerge": _under(key, loop.get("patchStrategicMerge"))}


_SETTINGS: Final = ("message", "failureAction", "failureActionOverrides", "allowExistingViolations")


def _extended_validate(validate: Body, key: str) -> Body | None:
    kept: Body = {name: validate[name] for name in _SETTINGS if name in validate}
    if validate.get("pattern") is not None:
        return {**kept, "pattern": _under(key, validate["pattern"])}
    if validate.get("deny") is not None:
        return {**kept, "deny": _rewritten_deny(validate["deny"])}
    if validate.get("podSecurity") is not None:
        return {**kept, "podSecurity": validate["podSecurity"] or {"exclude": []}}
    patterns = validate.get("anyPattern")
    if patterns is not None:
        listed = patterns if isinstance(patterns, list) else []
        # Go writes a list of none as null, and Kyverno's webhook refuses the rule then.
        return {**kept, "anyPattern": [_under(key, pattern) for pattern in listed] or None}
    if validate.get("foreach"):
        return {**kept, "foreach": list(map(_rewritten_loop, validate["foreach"]))}
    return validate if validate.get("cel") is not None else None


def _rewritten(conditions: Json) -> Json:
    """Return conditions as in a rule for controllers: Kyverno writes it as JSON, which omits empty
    lists, and conditions without any list hold."""
    if not isinstance(conditions, dict):
        return conditions
    return {key: listed for key, listed in conditions.items() if listed != []}


def _rewritten_deny(deny: Body) -> Body:
    return {**deny, "conditions": _rewritten(deny["conditions"])} if "conditions" in deny else deny


def _rewritten_loop(loop: Body) -> Body:
    made = dict(loop)
    if isinstance(loop.get("deny"), dict):
        made["deny"] = _rewritten_deny(loop["deny"])
    if isinstance(loop.get("foreach"), list):
        inner = loop["foreach"]
        made["foreach"] = [_rewritten_loop(own) if isinstance(own, dict) else own for own in inner]
    return made


def _under(key: str, value: Json) -> Body:
    return {"spec": {key: value}}


def _rewrite(value: Json, paths: Replacements) -> Json:
    """The value with every text, keys too, speaking of the Pod inside the controller."""
    if isinstance(value, str):
        for old, new in paths:
            value = value.replace(old, new)
        return value
    if isinstance(value, dict):
        return {_rewrite(key, paths): _rewrite(entry, paths) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rewrite(entry, paths) for entry in value]
    return value


def _has_kind(selectors: Iterable[str], kind: str) -> bool:
    return any(_bare_kind(selector) == kind for selector in selectors)


def _bare_kind(selector: str) -> str:
    """A selector's kind, without group, version and subresource, as `GetKindFromGVK` finds it."""
    parts = selector.split("/")
    if len(parts) == 1:
        return _before_dot(parts[0])
    if len(parts) == 2:
        return _before_dot(parts[1]) if is_version(parts[0]) else parts[0]
    if len(parts) == 3:
        return parts[1] if is_version(parts[0]) else _before_dot(parts[2])
    return parts[2] if len(parts) == 4 else ""


def _before_dot(text: str) -> str:
    return text.partition(".")[0]
