"""The texts in which Kyverno denies a request, and warns about one that it allows.

Sources: `pkg/webhooks/utils` (block.go, warning.go) and `pkg/webhooks/resource` (mutation, vpol,
ivpol, mpol) of Kyverno.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import yaml

from chartkit.model import Resource, RuleResult, Status

Failure = tuple[str, str, str]
"""The name of a policy, the rule, and its message."""

_PASSED: Final = (Status.PASS, Status.SKIP)
_FAILED: Final = {Status.FAIL: "failed", Status.ERROR: "error"}
_OLD_BOOLS: Final = frozenset(("y", "Y", "n", "N"))
_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_RESOLVER: Final = yaml.resolver.Resolver()


def plain_name(policy: str) -> str:
    """Return the name of a policy without its namespace, as Kyverno words it."""
    return policy.rpartition("/")[2]


def failures(results: Sequence[RuleResult]) -> str:
    """Return each rule that neither passed nor was skipped, as YAML."""
    return _as_yaml(
        tuple(
            (plain_name(result.policy), result.rule, result.message)
            for result in results
            if result.status not in _PASSED
        )
    )


def blocked(resource: Resource, failures: str) -> str:
    """Return the denial of an object by ClusterPolicies; failures: of their rules, as YAML."""
    name = f"{resource.kind}/{resource.namespace}/{resource.name}"
    return f"\n\nresource {name} was blocked due to the following policies \n\n{failures}"


def not_mutated(policy: str, results: Sequence[RuleResult]) -> str:
    """Return the denial of an object that a ClusterPolicy could not mutate."""
    name = plain_name(policy)
    failed = [result for result in results if result.status in _FAILED]
    rules = " ".join(f"{result.rule}: {result.message}" for result in failed)
    return f"mutation policy {name} error: failed to apply policy {name} rules [{rules}]"


def not_mutated_by_cel(resource: Resource, errors: Sequence[RuleResult]) -> str:
    """Return the denial of an object that MutatingPolicies could not mutate."""
    name = f"{resource.namespace}/{resource.name}"
    listed = " ".join(f"Policy {plain_name(result.policy)}: {result.message}" for result in errors)
    return f"Resource: {name}, Kind: {resource.kind}, Errors: [{listed}]"


def by_cel(results: Sequence[RuleResult]) -> Iterator[str]:
    """Yield the line of each failure of a CEL policy, for a denial or a warning."""
    for result in results:
        word = _FAILED.get(result.status)
        if word is not None:
            yield f"Policy {plain_name(result.policy)} {word}: {result.message}"


def warning(result: RuleResult) -> str:
    """Return the warning about a rule of a ClusterPolicy."""
    return f"policy {plain_name(result.policy)}.{result.rule}: {result.message}"


@lru_cache(maxsize=1024)
def _as_yaml(failures: Sequence[Failure]) -> str:
    """Return the messages by policy and rule, sorted, as `go.yaml.in/yaml/v3` writes them."""
    by_policy: dict[str, dict[str, str]] = {}
    for policy, rule, message in failures:
        by_policy.setdefault(policy, {})[rule] = message
    policies = []
    for policy, rules in sorted(by_policy.items()):
        messages = [(_scalar(rule), _scalar(text)) for rule, text in sorted(rules.items())]
        policies.append((_scalar(policy), _mapping(messages)))
    options: Any = {"Dumper": _DUMPER, "width": 1 << 30, "indent": 2, "allow_unicode": True}
    return str(yaml.serialize(_mapping(policies), **options))


def _mapping(entries: list[tuple[yaml.Node, yaml.Node]]) -> yaml.Node:
    return yaml.MappingNode("tag:yaml.org,2002:map", entries, flow_style=False)


def _scalar(text: str) -> yaml.Node:
    style = "|" if "\n" in text else '"' if _is_read_otherwise(text) else None
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=style)


def _is_read_otherwise(text: str) -> bool:
    """Report whether a plain scalar would be read as another type than text."""
    if text in _OLD_BOOLS or not text:
        return True
    tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    if tag != "tag:yaml.org,2002:str":
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
