"""The defaults of `verifyImages` in the custom resource definition."""

from __future__ import annotations

from typing import Final

from chartkit.model import Body

_SWITCHES: Final = ("mutateDigest", "verifyDigest", "required", "useCache")


def with_defaults(block: Body) -> Body:
    """Return an entry with the defaults of its definition, which nested sets have not."""
    made = {**dict.fromkeys(_SWITCHES, True), **block}
    if block.get("attestors"):
        made["attestors"] = [_defaulted_set(attestor) for attestor in block["attestors"]]
    if block.get("attestations"):
        made["attestations"] = [
            {**one, "attestors": [_defaulted_set(each) for each in one.get("attestors") or ()]}
            for one in block["attestations"]
        ]
    return made


def _defaulted_set(body: Body) -> Body:
    entries = [_defaulted_entry(one) for one in body.get("entries") or ()]
    return {**body, "entries": entries}


def _defaulted_entry(entry: Body) -> Body:
    made = {"signatureAlgorithm": "sha256", **entry}
    if entry.get("keys") is not None:
        made["keys"] = {"signatureAlgorithm": "sha256", **entry["keys"]}
    return made
