"""What stands beside a test: `test_x.yaml` holds texts and tables of `test_x.py` by their names."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


def beside(module: str) -> dict[str, str]:
    """The texts in the YAML file beside a module, which is named as its `__file__`."""
    return tables(module)


@cache
def tables(module: str) -> dict[str, Any]:
    """The tables of cases in the YAML file beside a module, which is named as its `__file__`."""
    found = yaml.load(Path(module).with_suffix(".yaml").read_bytes(), yaml.CSafeLoader)
    assert isinstance(found, dict)
    return found
