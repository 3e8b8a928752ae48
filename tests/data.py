"""What stands beside a test: `test_x.yaml` holds texts and tables of `test_x.py` by their names."""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

_Test = TypeVar("_Test", bound=Callable[..., object])


def beside(module: str) -> dict[str, str]:
    """The texts in the YAML file beside a module, which is named as its `__file__`."""
    return tables(module)


@cache
def tables(module: str) -> dict[str, Any]:
    """The tables of cases in the YAML file beside a module, which is named as its `__file__`."""
    found = yaml.load(Path(module).with_suffix(".yaml").read_bytes(), yaml.CSafeLoader)
    assert isinstance(found, dict)
    return found


def from_table(*names: str, named_by: str = "") -> Callable[[_Test], _Test]:
    """Runs a test once for each row of the table that has its name in the YAML file beside it. The
    names are those of the test's parameters, in the order of a row. A table is a list of rows,
    whose cases may be named by one of the parameters, or a mapping from names of cases to rows."""

    def with_rows(test: _Test) -> _Test:
        module = sys.modules[test.__module__].__file__
        table = tables(str(module))[test.__name__]
        rows = list(table.values() if isinstance(table, dict) else table)
        ids = list(table) if isinstance(table, dict) else None
        if named_by:
            ids = [row[names.index(named_by)] for row in rows]
        marked: _Test = pytest.mark.parametrize(",".join(names), rows, ids=ids)(test)
        return marked

    return with_rows
