"""README.md of the policies chart, from the schema of its values and its policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from chartkit.charts.plan import POLICIES, code, page, prose
from chartkit.charts.policies.values import upstream_keys
from chartkit.charts.policies.values_schema import Catalogue
from chartkit.library.policies import LibraryPolicy
from chartkit.model import Body
from chartkit.safe_text import markdown_cell, markdown_rows

_HEAD: Final = ("Key", "Default", "Description")
_ABOUT: Final = (
    "Kyverno policies of the profiles {profiles}, as one Helm chart. Every policy can be switched, "
    "changed and excluded from by values."
)
_SETTINGS: Final = """\
## Settings of a policy

Under `policies.NAME`, all of them optional. They override the values above.
"""
_POLICIES: Final = """\
## Policies

Parameters are set with `policies.NAME.parameters`.
"""
_UPSTREAM: Final = """\
## Upstream's values

The chart also accepts the keys of the upstream chart that say the same in another place, so that
existing values files work. `policies.NAME` overrides them.
"""


def readme(catalogue: Catalogue, values: Body, schema: Body) -> str:
    """Return README.md; values: those of values.yaml."""
    properties = schema["properties"]
    upstream = upstream_keys(schema)
    keys = [key for key in properties if key not in upstream]
    own = schema["definitions"]["policy"]["properties"]
    sections = [
        "## Values\n\n"
        + markdown_rows(_HEAD, (_row(key, properties[key], values) for key in keys)),
        f"{_SETTINGS}\n{markdown_rows(_HEAD[::2], _described(own, own))}",
        f"{_POLICIES}\n" + "\n".join(map(_policy, catalogue.policies)),
        f"{_UPSTREAM}\n{markdown_rows(_HEAD[::2], _described(properties, upstream))}",
    ]
    return page(POLICIES, _ABOUT.format(profiles=", ".join(values["profiles"])), sections)


def _row(key: str, body: Body, values: Body) -> tuple[str, str, str]:
    default = code(values[key]) if key in values else ""
    return f"`{key}`", default, prose(body["description"])


def _described(properties: Body, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((f"`{key}`", prose(properties[key]["description"])) for key in keys)


def _policy(policy: LibraryPolicy) -> str:
    """Return the section of a policy; it may come from a library of others."""
    lines = [f"### {policy.name}\n"]
    lines += [f"{markdown_cell(text)}\n" for text in (policy.title, policy.description) if text]
    if policy.parameters:
        rows = (
            (f"`{name}`", code(parameter.default), prose(parameter.schema.get("description", "")))
            for name, parameter in policy.parameters.items()
        )
        lines.append(markdown_rows(("Parameter", *_HEAD[1:]), rows))
    return "\n".join(lines)
