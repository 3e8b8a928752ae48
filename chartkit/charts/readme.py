"""README.md of a generated chart: what it is, how to install it, and its values as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from chartkit.model import Json

README_FILE: Final = "README.md"
_HEAD: Final = """\
<!-- Written by chartkit render: edit chartkit.yaml or the values files instead. -->

# {name}

{about}

## Install

```sh
helm upgrade --install {name} charts/{name} --namespace kyverno --create-namespace \\
  --values charts/{name}/values_ENVIRONMENT.yaml
```

`values.yaml` has the defaults, and `values_ENVIRONMENT.yaml` what an environment changes. Templates
are not an interface: set values instead. `values.schema.json` checks them, and Helm refuses a key
that it does not know.
"""
_LONG: Final = 80


def page(name: str, about: str, sections: Iterable[str]) -> str:
    """Return README.md; about: a paragraph on the chart; sections: Markdown, each with its head."""
    return "\n".join([_HEAD.format(name=name, about=about), *sections])


def prose(text: str) -> str:
    """Return a description of the chart's own for a cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(value: Json) -> str:
    """Return a value as JSON for a cell; a pointer to values.yaml for a long one."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _LONG or "`" in text:
        return "see values.yaml"
    return f"`{text}`".replace("|", "\\|")
