"""Guidance for reports: what to change for a policy, its page, and the controls that it covers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from chartkit.bundled import library_dir
from chartkit.catalog.coverage.standards import built_in_standards, read_standard
from chartkit.documents.reader import read_file
from chartkit.model import mapping_at
from chartkit.report.model import Guidance

_METADATA = "metadata.yaml"


def guidance(names: Collection[str]) -> Mapping[str, Guidance]:
    """Return the guidance for policies by their names; raise InputError.

    What to change is known of built-in policies, and controls of the built-in standards.
    """
    controls: dict[str, list[str]] = defaultdict(list)
    for standard in built_in_standards():
        for control in read_standard(standard).controls:
            for reference in control.policies:
                name = reference.rpartition("/")[2]
                if name in names:
                    controls[name].append(f"{standard.upper()} {control.id}")
    found: dict[str, Guidance] = {}
    for file in sorted(library_dir().glob(f"*/*/{_METADATA}")):
        name = file.parent.name
        if name in names:
            body = read_file(file)[0].body
            source = mapping_at(body, "control").get("source")
            found[name] = Guidance(
                _text(mapping_at(body).get("remediation")), _text(source), tuple(controls[name])
            )
    others = {name: Guidance(controls=tuple(each)) for name, each in controls.items()}
    return {**others, **found}


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
