"""Lists what a release requires, by requirements.lock, in CycloneDX 1.6.

python -m tools.sbom FILE: needs hatchling alone, as a build does. The list is the same for the same
lock and version.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

from chartkit import __version__
from hatch_build import LOCK, NAME, canonical, pinned

ROOT = Path(__file__).parents[1]
_ENTRY = re.compile(r"^(\S+)==(\S+)[^\n]*\n((?:    [^\n]*\n)*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^ +#(?: via)? +([\w.-]+)", re.MULTILINE)


def bill(lock: str, core: list[str], extras: dict[str, list[str]]) -> dict[str, Any]:
    """Return the bill of materials; core, extras: ranges of pyproject.toml."""
    required = {pin.partition("==")[0] for pin in pinned(core, lock)}
    ranges = [each for name, listed in extras.items() if name != "dev" for each in listed]
    shipped = required | {pin.partition("==")[0] for pin in pinned(ranges, lock)}
    entries = {name: (version, below) for name, version, below in _ENTRY.findall(lock)}
    components, needs = [], {name: set[str]() for name in shipped}
    for name in sorted(shipped):
        version, below = entries[name]
        for user in _VIA.findall(below):
            if user in needs:
                needs[user].add(name)
        components.append(
            {
                "type": "library",
                "bom-ref": name,
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "scope": "required" if name in required else "optional",
                "hashes": [{"alg": "SHA-256", "content": each} for each in _HASH.findall(below)],
            }
        )
    needs["chartkit"] = {
        canonical(match[0]) for each in core + ranges if (match := NAME.match(each))
    }
    subject = {"type": "application", "bom-ref": "chartkit", "name": "chartkit"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, f'{__version__} {lock}')}",
        "version": 1,
        "metadata": {"component": {**subject, "version": __version__}},
        "components": components,
        "dependencies": [
            {"ref": name, "dependsOn": sorted(below)} for name, below in sorted(needs.items())
        ],
    }


def main() -> None:
    """Write the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    body = bill((ROOT / LOCK).read_text("utf-8"), hook["requires"], hook["extras"])
    text = json.dumps(body, indent=1) + "\n"
    Path(sys.argv[1]).write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    main()
