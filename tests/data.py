"""The texts that stand beside a test: `test_x.yaml` holds those of `test_x.py` by their names."""

from pathlib import Path

import yaml


def beside(module: str) -> dict[str, str]:
    """The texts in the YAML file beside a module, which is named as its `__file__`."""
    found = yaml.load(Path(module).with_suffix(".yaml").read_bytes(), yaml.CSafeLoader)
    assert isinstance(found, dict)
    return found
