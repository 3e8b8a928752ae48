"""Templates that guards of policies from elsewhere ask, and that stayed behind in their chart.

A guard around a policy asks whether it is on (`{{ if eq (include "theirs.enabled" …) "true" }}`).
Here values settle that before the policy's text is read, so the answer is always yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from chartkit.errors import InputError
from chartkit.library.rendered import RenderedPolicy
from chartkit.library.upstream import UpstreamPolicy

GUARDS_FILE: Final = "templates/_guards.tpl"
_HEAD: Final = (
    "{{/* Templates that upstream policies include. Do not edit or override them: values are the "
    "interface. */}}\n"
)
_DEFINED: Final = re.compile(r"\{\{-? *define +\"([^\"]+)\"")


def guard_templates(templates: Iterable[RenderedPolicy], files: Mapping[str, str]) -> str:
    """The text that defines the templates which guards ask; empty for none.

    files: the chart's. Raises InputError for a guard that asks a template of the chart's own.
    """
    asked = {
        name: policy.location
        for policy in (template.policy for template in templates)
        if isinstance(policy, UpstreamPolicy)
        for name in policy.guards
    }
    if not asked:
        return ""
    own = {name for text in files.values() for name in _DEFINED.findall(text)}
    for name, location in asked.items():
        if name in own:
            message = f"Helm code in a policy: it asks '{name}', a template of the chart's own"
            raise InputError(message, location, "take the guard out: values say what is installed")
    return _HEAD + "".join(f'{{{{- define "{name}" -}}}}true{{{{- end -}}}}\n' for name in asked)
