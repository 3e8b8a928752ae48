"""The rules for policies, one a module; declaring one registers it. Its words are in rules.yaml.

Ids: CK70x and CK71x are without effect, CK72x what Kyverno or an API server refuses, CK73x about
expressions and templates, CK74x what burdens a cluster, CK75x about several policies together.
"""

from __future__ import annotations

from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, texts
from chartkit.registration import declarations, modules

_PACKAGES: Final = ("burdens", "expressions")
_CHECKED: Final = tuple(
    declared()
    for package in (__name__, *(f"{__name__}.{name}" for name in _PACKAGES))
    for module in modules(package)
    for declared in declarations(type, vars(module))
    if issubclass(declared, PolicyRule) and declared.__module__ == module.__name__
)
_TOGETHER: Final = texts().keys() - {rule.id for rule in _CHECKED}
"""The rules about several policies together, which the add-on `satisfy` decides."""
RULES: Final[tuple[PolicyRule, ...]] = tuple(
    sorted((*_CHECKED, *map(PolicyRule, _TOGETHER)), key=lambda rule: rule.id)
)
"""Every rule of every module in this folder, and of rules.yaml, by id."""
