"""Rows of podSecurity rules that lift controls: Kyverno gives what is left in no order."""

import json
import re
from typing import Any, Final

_GROUP: Final = re.compile(
    r"\(Forbidden reason: .*?, field error list: \[.*?\]\)(?=\(Forb|$)", re.S
)


def ordered_message(message: str) -> str:
    """The message with its groups sorted; another message as it is."""
    return _GROUP.sub("", message) + "".join(sorted(_GROUP.findall(message)))


def ordered_properties(properties: dict[str, str]) -> dict[str, str]:
    """The properties with their controls sorted; others as they are."""
    if "controlsJSON" not in properties:
        return properties
    listed = json.loads(properties["controlsJSON"])
    return {
        **properties,
        "controls": ",".join(sorted(properties["controls"].split(","))),
        "controlsJSON": json.dumps(sorted(listed, key=lambda one: one["ID"])),
    }


def lifts_controls(policy: dict[str, Any]) -> bool:
    """Whether any rule of a policy lifts controls."""
    rules = (policy.get("spec") or {}).get("rules") or ()
    return any(_excludes(rule.get("validate")) for rule in rules if isinstance(rule, dict))


def _excludes(validate: Any) -> bool:
    security = validate.get("podSecurity") if isinstance(validate, dict) else None
    return isinstance(security, dict) and bool(security.get("exclude"))
