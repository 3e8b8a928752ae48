"""Links that open a policy and an object in the page, which reads them from the address's fragment
(`docs/playground/link.ts`): it is sent to no server."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from typing import Final

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body, Resource, values_below

_VERSION: Final = "1."
_MOST: Final = 16_000
"""The most characters of a link in a report: browsers take more, other programs cut them."""


def links(address: str) -> Callable[[Body, Resource], str]:
    """Return a function that gives the link of a policy and an object; empty where either is
    missing or holds a Secret, and where both are too long. address: of the page."""
    page = address.partition("#")[0]
    policies: dict[int, str] = {}

    def link(policy: Body, resource: Resource) -> str:
        if id(policy) not in policies:
            policies[id(policy)] = _text(policy)
        policy_text, text = policies[id(policy)], _text(resource.body)
        url = f"{page}#{fragment(policy_text, text)}" if policy_text and text else ""
        return url if len(url) <= _MOST else ""

    return link


def _text(body: Body) -> str:
    """Return a document as YAML, empty if it is or holds a Secret."""
    below = (value for _, value in values_below(body) if isinstance(value, dict))
    is_kept = body and not any(value.get("kind") == "Secret" for value in below)
    return dump_yaml(body) if is_kept else ""


def fragment(policies: str, objects: str) -> str:
    """Return the fragment of an address that opens policies and objects."""
    state = {"tab": "evaluate", "policies": policies, "objects": objects}
    packed = zlib.compress(json.dumps(state).encode(), wbits=-zlib.MAX_WBITS)
    return _VERSION + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()
