"""Policies to start from: those of chartkit's profiles, with their examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chartkit.model import Body

FILE: Final = Path(__file__).with_name("library.json")
"""The entries in the page, which has no policy folders; `tools/playground.py` writes it."""


def library(_given: Body) -> Body:
    """Return the policies with objects that fail and objects that pass."""
    if FILE.is_file():
        found: Body = json.loads(FILE.read_bytes())
        return found
    return {"entries": list(_entries())}


def _entries() -> Iterator[Body]:
    from chartkit.bundled import profiles_dir
    from chartkit.documents.reader import read_file, read_source
    from chartkit.documents.yaml_dump import dump_documents
    from chartkit.library.filled import filled_folder
    from chartkit.library.policies import BAD_FILE, GOOD_FILE, METADATA_FILE, POLICY_FILE
    from chartkit.model import text_of
    from chartkit.project.settings import PolicyType

    for file in sorted(profiles_dir().glob(f"policies/**/{METADATA_FILE}")):
        folder = file.parent
        if not (folder / POLICY_FILE).is_file():
            continue
        [metadata] = read_file(file)
        policies = filled_folder(folder, {}, PolicyType("ClusterPolicy"))
        examples = [folder / name for name in (BAD_FILE, GOOD_FILE)]
        yield {
            "name": folder.name,
            "title": text_of(metadata.body.get("title")),
            "category": text_of(metadata.body.get("category")),
            "summary": text_of(metadata.body.get("description")).partition("\n")[0],
            "policy": dump_documents(each.body for each in policies),
            "objects": "---\n".join(read_source(each) for each in examples if each.is_file()),
        }
