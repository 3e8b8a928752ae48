"""The rules for policies, one a module; declaring one registers it.

Ids: CK70x and CK71x are without effect, CK72x what Kyverno or an API server refuses, CK73x about
expressions and templates, CK74x what burdens a cluster, CK75x about several policies together.
"""

from __future__ import annotations

from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule
from chartkit.registration import declarations, modules

_PACKAGES: Final = ("burdens", "expressions")
RULES: Final[tuple[PolicyRule, ...]] = tuple(
    sorted(
        (
            declared()
            for package in (__name__, *(f"{__name__}.{name}" for name in _PACKAGES))
            for module in modules(package)
            for declared in declarations(type, vars(module))
            if issubclass(declared, PolicyRule) and declared.__module__ == module.__name__
        ),
        key=lambda rule: rule.id,
    )
)
"""Every rule of every module in this folder, by id."""
