"""The named templates that new forms use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path


@cache
def helper_texts() -> Sequence[str]:
    """Return the named templates, each with its comment."""
    text = (Path(__file__).parent / "helpers.tpl").read_text("utf-8")
    return re.split(r"\n(?=\{\{/\*)", text)


def helpers(prefix: str, texts: Iterable[str]) -> str:
    """Return the named templates that texts use, as a chart has them."""
    head, *parts = (part.replace("CHART.", f"{prefix}.") for part in helper_texts())
    names = {part: re.findall(r'define "(.*?)"', part)[0] for part in parts}
    used, seen = "\n".join(texts), ""
    while used != seen:
        seen = used
        kept = [part for part in parts if f'include "{names[part]}"' in used]
        used = "\n".join([*kept, *texts])
    return "\n".join([head, *kept])
