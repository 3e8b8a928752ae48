"""Policies to start from: examples by the subjects of guides, and chartkit's profiles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chartkit.model import Body

FILE: Final = Path(__file__).with_name("library.json")
"""The entries in the page, which has no policy folders; `tools/playground.py` writes it."""
_GUIDES: Final = Path(__file__).with_name("guides")
_BUILT_IN: Final = "Built-in policies"


def library(_given: Body) -> Body:
    """Return the policies with objects that fail and pass, and the groups of each."""
    if FILE.is_file():
        index: Body = json.loads(FILE.read_bytes())
        return index
    from chartkit.documents.reader import read_file

    guides = read_file(_GUIDES / "index.yaml")[0].body
    examples = [_example(guide["title"], name) for guide in guides for name in guide["examples"]]
    entries = list(_built_in())
    for entry in entries:
        own = (guide["title"] for guide in guides if entry["name"] in guide["library"])
        entry["groups"] = [*own, _BUILT_IN]
    return {"entries": [*examples, *entries]}


def _example(group: str, name: str) -> Body:
    from chartkit.documents.reader import read_file

    body = read_file(_GUIDES / f"{name}.yaml")[0].body
    return {
        "name": name,
        "title": body["title"],
        "category": "Example",
        "summary": body["summary"],
        "policy": body["policy"],
        "objects": f"{body['fails']}---\n{body['passes']}",
        "groups": [group],
    }


def _built_in() -> Iterator[Body]:
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
            "policy": dump_documents(policy.body for policy in policies),
            "objects": "---\n".join(read_source(file) for file in examples if file.is_file()),
        }
