"""Hooks of MkDocs: the order of pages, links out of `docs/`, tables, the schemas."""

import hashlib
import json
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

import chartkit.kyverno
from chartkit import SITE
from chartkit.cli.schema import schema_of, schemas

_SECTIONS: Final = {
    "Start": "start",
    "How to": "how-to",
    "Reference": "reference",
    "Background": "background",
    "Policies": "policies",
}
_PAGES: Final = ["troubleshooting.md", "security.md", "architecture.md"]
_LINK: Final = re.compile(r"\[([^\]\n]*)\]\(((?:\.\./)+[^)\s#]*)(#[^)\s]*)?\)")
_ESCAPED_BAR: Final = re.compile(r"`[^`\n]*\\\|[^`\n]*`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give the site its address, which is also that of the schemas."""
    config.site_url = SITE
    return config


def on_post_build(config: MkDocsConfig) -> None:
    """Write the schemas where their `$id` says that they are, and the facts with their digest."""
    facts = Path(chartkit.kyverno.__file__).with_name("releases.yaml").read_bytes()
    Path(config.site_dir, "facts.yaml").write_bytes(facts)
    digest = f"{hashlib.sha256(facts).hexdigest()}  facts.yaml\n"
    Path(config.site_dir, "facts.yaml.sha256").write_text(digest, "utf-8", newline="\n")
    folder = Path(config.site_dir, "schemas")
    folder.mkdir(exist_ok=True)
    for name in schemas():
        text = json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"
        (folder / f"{name}.schema.json").write_text(text, "utf-8", newline="\n")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """List the pages by kind, in the order of docs/README.md."""
    pages = sorted(file.src_uri for file in files.documentation_pages())
    sections = ({name: _section(pages, folder)} for name, folder in _SECTIONS.items())
    config.nav = ["README.md", *sections, *_PAGES]
    return files


def _section(pages: list[str], folder: str) -> list[Any]:
    """Return the pages of a folder, its README.md first, and then its folders."""
    below = [
        PurePosixPath(page).relative_to(folder) for page in pages if page.startswith(folder + "/")
    ]
    names = sorted(
        (path.name for path in below if len(path.parts) == 1),
        key=lambda name: (name != "README.md", name),
    )
    folders = sorted({path.parts[0] for path in below if len(path.parts) > 1})
    return [
        *(f"{folder}/{name}" for name in names),
        *({name: _section(pages, f"{folder}/{name}")} for name in folders),
    ]


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Lead links out of `docs/` to the repository whose address is in CHARTKIT_REPOSITORY.

    In a table, GitHub wants a bar within code escaped, and Python-Markdown shows the backslash.
    """
    folder = PurePosixPath("docs", page.file.src_uri).parent
    repository = os.environ.get("CHARTKIT_REPOSITORY", "").rstrip("/")

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match.groups(default="")
        path = os.path.normpath(folder / target)
        if path.startswith("docs/"):
            return match[0]
        return f"[{text}]({repository}/blob/HEAD/{path}{anchor})" if repository else text

    return _ESCAPED_BAR.sub(lambda code: code[0].replace(r"\|", "|"), _LINK.sub(link, markdown))
