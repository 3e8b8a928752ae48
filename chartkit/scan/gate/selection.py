"""The part of a scan that counts: selectors of policies, rules, severities, kinds and namespaces.

A selector is `KEY:PATTERN`, or the name of a policy; `*` and `?` are wildcards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from chartkit.engine import RunnablePolicy
from chartkit.engine.cluster_policy.autogen import all_rules
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.request import Phase
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Resource, RuleResult
from chartkit.report import PolicyFacts
from chartkit.scan.gate import written_rule

_OF_POLICIES: Final = ("policy", "rule", "category", "severity")
_OF_OBJECTS: Final = ("kind", "namespace")
KEYS: Final = (*_OF_POLICIES, *_OF_OBJECTS)
_CHANGING: Final = frozenset({Phase.MUTATE, Phase.IMAGES})


class Selector(NamedTuple):
    """One selector. option: `--select` or `--skip`; key: of `KEYS`, or the name of a standard."""

    option: str
    key: str
    pattern: str
    policies: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.option} {self.key}:{self.pattern}"

    def matches(self, values: Iterable[str]) -> bool:
        """Report whether any of the values matches."""
        return any(map(compile_wildcard(self.pattern), values))


def rule_names(policy: RunnablePolicy) -> tuple[str, ...]:
    """Return the names of a policy's rules as results have them, those for pod controllers among
    them; an empty text for a policy in CEL."""
    parsed = policy.policy
    if isinstance(parsed, Policy):
        return tuple(dict.fromkeys(rule.name for rule in all_rules(parsed)))
    return policy.rules_in(frozenset(Phase)) or ("",)


class PolicyTraits:
    """The values of policies that selectors are about: names, rules, categories, severities."""

    def __init__(
        self, policies: Sequence[RunnablePolicy], facts: Mapping[str, PolicyFacts]
    ) -> None:
        self._facts = facts
        self.policies = policies
        self._values: dict[tuple[str, str], tuple[str, ...]] = {}

    def of_policy(self, identity: str, key: str) -> tuple[str, ...]:
        """Return the values of a policy for a key other than `rule`; identity: its ID."""
        values = self._values.get((identity, key))
        if values is None:
            facts = self._facts.get(identity)
            if key == "category":
                values = ("" if facts is None else facts.category,)
            elif key == "severity":
                values = ("" if facts is None else facts.severity.lower(),)
            else:
                name = identity if facts is None else facts.name
                values = tuple(dict.fromkeys((name, identity)))
            self._values[identity, key] = values
        return values

    def known(self, key: str) -> set[str]:
        """Return all values that a selector of policies may name."""
        values: set[str] = set()
        for policy in self.policies:
            if key in ("rule", "policy"):
                given = rule_names(policy)
                rules = {*given, *map(written_rule, given)}
                names = self.of_policy(policy.policy.id, "policy")
                values.update(names if key == "policy" else ())
                values.update(rules if key == "rule" else ())
                values.update(f"{name}/{rule}" for name in names for rule in rules if rule)
            else:
                values.update(self.of_policy(policy.policy.id, key))
        if key == "policy":
            # Definitions of custom kinds give results, too.
            for identity in self._facts.keys() - {policy.policy.id for policy in self.policies}:
                values.update(self.of_policy(identity, key))
        return values - {""}


class Selection:
    """The selected policies, rules and objects: those that a selector of each given key matches,
    without those that a `--skip` matches."""

    def __init__(self, select: Sequence[Selector], skip: Sequence[Selector]) -> None:
        self._select: dict[str, list[Selector]] = {}
        for selector in select:
            self._select.setdefault(selector.key, []).append(selector)
        self._skip = tuple(skip)
        self._unseen = {selector for selector in (*select, *skip) if selector.key in _OF_OBJECTS}
        self._seen: dict[str, set[str]] = {key: set() for key in _OF_OBJECTS}

    def __bool__(self) -> bool:
        return bool(self._select or self._skip)

    @property
    def selectors(self) -> Iterator[Selector]:
        """All selectors."""
        for group in self._select.values():
            yield from group
        yield from self._skip

    def has_object(self, api_version: str, kind: str, namespace: str) -> bool:
        """Report whether objects of a kind and namespace are selected."""
        values = {"kind": (kind, f"{api_version}/{kind}"), "namespace": (namespace,)}
        if self._unseen:
            for key, names in values.items():
                self._seen[key].add(names[0])
            self._unseen -= {item for item in self._unseen if item.matches(values[item.key])}
        return self._has(_OF_OBJECTS, values.__getitem__)

    def has_rule(self, traits: PolicyTraits, identity: str, rule: str) -> bool:
        """Report whether a rule of a policy is selected; identity: the policy's ID."""
        names = traits.of_policy(identity, "policy")

        def values(key: str) -> tuple[str, ...]:
            if key in ("policy", "rule"):
                rules = dict.fromkeys((rule, written_rule(rule))) if rule else ()
                full = tuple(f"{name}/{text}" for name in names for text in rules)
                return (*names, *full) if key == "policy" else (*rules, *full)
            return traits.of_policy(identity, key if key in _OF_POLICIES else "policy")

        return self._has(None, values)

    def _has(self, keys: Collection[str] | None, values: Callable[[str], tuple[str, ...]]) -> bool:
        """Report whether selectors of some keys match; None: all keys except those of objects."""

        def is_asked(key: str) -> bool:
            return key in keys if keys is not None else key not in _OF_OBJECTS

        for key, selectors in self._select.items():
            if is_asked(key) and not any(_matches(selector, values(key)) for selector in selectors):
                return False
        return not any(
            _matches(skip, values(skip.key)) for skip in self._skip if is_asked(skip.key)
        )

    def runs(self, traits: PolicyTraits, policy: RunnablePolicy) -> bool:
        """Report whether a policy needs to run: it may change objects, or has a selected rule."""
        rules = rule_names(policy)
        identity = policy.policy.id
        return bool(policy.phases & _CHANGING) or any(
            self.has_rule(traits, identity, rule) for rule in rules
        )

    def require_policies(self, traits: PolicyTraits) -> None:
        """Raise InputError for a selector of policies that matches none of them."""
        for selector in self.selectors:
            if selector.key in _OF_OBJECTS:
                continue
            values = traits.known(selector.key if selector.key in _OF_POLICIES else "policy")
            if not _matches(selector, values):
                from chartkit.scan.gate.selectors import selects_nothing

                raise selects_nothing(selector, values)

    def require_objects(self) -> None:
        """Raise InputError for a selector of objects that matched none of those seen."""
        for selector in self.selectors:
            if selector in self._unseen:
                from chartkit.scan.gate.selectors import selects_nothing

                raise selects_nothing(selector, self._seen[selector.key] - {""})


def _matches(selector: Selector, values: Iterable[str]) -> bool:
    if selector.key in KEYS:
        return selector.matches(values)
    return not selector.policies.isdisjoint(values)


def selected(
    selection: Selection, traits: PolicyTraits, resource: Resource, results: Sequence[RuleResult]
) -> list[RuleResult]:
    """Return the selected results of an object."""
    if not selection.has_object(resource.api_version, resource.kind, resource.namespace):
        return []
    return [
        result for result in results if selection.has_rule(traits, result.policy_id, result.rule)
    ]
