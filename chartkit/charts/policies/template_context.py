"""The context of a policy's template in the policies chart, and the templates that guards of
policies from elsewhere ask, which stayed behind in their chart.

A guard around a policy asks whether it is on (`{{ if eq (include "theirs.enabled" …) "true" }}`).
Here values settle that before the policy's text is read, so the answer is always yes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from chartkit.charts.policies.values_schema import BASELINE, RESTRICTED, is_standard
from chartkit.errors import InputError
from chartkit.helm.syntax import escape, escape_all
from chartkit.kyverno import policy_fields
from chartkit.kyverno.cel_literals import kyverno_call
from chartkit.kyverno.policy_fields import extends_to_controllers
from chartkit.library import upstream
from chartkit.library.rendered import RenderedPolicy
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Body

_ANNOTATION = "policies.kyverno.io/"
GUARDS_FILE: Final = "templates/_guards.tpl"
_HEAD: Final = (
    "{{/* Templates that upstream policies include. Do not edit or override them: values are the "
    "interface. */}}\n"
)
_DEFINED: Final = re.compile(r"\{\{-? *define +\"([^\"]+)\"")


def policy_context(template: RenderedPolicy, group: str) -> Body:
    """Return the context of a policy's template; group: the standard's group of the policy."""
    policy = template.policy
    if isinstance(policy, UpstreamPolicy):
        return {
            "name": policy.name,
            "about": escape_all(_json_text(upstream.about(policy, group))),
            "body": _apart(policy.template.text),
            "cel": "",
            "upstream": True,
            "bindings": tuple(map(_apart, policy.bindings)),
        }
    shared = [name for name, parameter in policy.parameters.items() if parameter.shared]
    about: Body = {
        "group": group if group in (BASELINE, RESTRICTED) else "other",
        "standard": is_standard(policy),
        "minimum": str(policy.minimum_kyverno),
        **_cel_context(template),
        **({"cleanup": True} if template.cleans else {}),
        "shared": shared,
        "defaults": policy.defaults,
        "annotations": {
            f"{_ANNOTATION}title": policy.title,
            f"{_ANNOTATION}category": policy.category,
            f"{_ANNOTATION}severity": policy.severity,
            f"{_ANNOTATION}minversion": f"{policy.minimum_kyverno}.0",
            f"{_ANNOTATION}subject": ",".join(policy.subject),
            f"{_ANNOTATION}description": policy.description,
        },
    }
    return {
        "name": policy.name,
        "about": escape(_json_text(about)),
        "body": template.text.rstrip("\n"),
        "cel": (template.cel or "").rstrip("\n"),
        "upstream": False,
        "bindings": (),
    }


def _apart(text: str) -> str:
    """A text that Helm code follows. Nothing is put behind it but where it would run into braces:
    a block scalar at its end has every white space that is there."""
    return f"{text}\n" if text.endswith("{") else text


def _cel_context(template: RenderedPolicy) -> Body:
    """Return the chart's facts about a policy's form in CEL: its kind (null for none), the
    oldest Kyverno with its fields, whether it is about Pods only, and its calls that an API
    server lacks (null for none)."""
    if not template.cel_bodies:
        return {"cel": None}
    body = template.cel_bodies[0]
    minimum = max(policy_fields.minimum_version(body)[0] for body in template.cel_bodies)
    pods = extends_to_controllers(body)
    asks = next(filter(None, map(kyverno_call, template.cel_bodies)), None)
    return {"cel": body["kind"], "celMinimum": str(minimum), "pods": pods, "asksKyverno": asks}


def _json_text(about: Body) -> str:
    """Return the chart's facts about a policy as JSON: every template that asks reads it again,
    and Helm reads YAML much slower."""
    return json.dumps(about, indent=1, ensure_ascii=False)


def guard_templates(templates: Iterable[RenderedPolicy], files: Mapping[str, str]) -> str:
    """The text that defines the templates which guards ask; empty for none. files: the chart's.
    Raises InputError for a guard that asks a template of the chart's own."""
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
