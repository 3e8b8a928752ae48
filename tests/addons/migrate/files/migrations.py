"""Migrations of files, as the command starts them without its options."""

import io
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from chartkit.addons.migrate.files.run import Migration, migrate
from chartkit.addons.migrate.options import InventoryOptions, MigrationOptions

INVENTORY: Final = InventoryOptions(
    paths=(),
    values=(),
    named_namespace=None,
    release="release",
    kube_version=None,
    cluster=False,
    context=None,
    record=None,
)
OPTIONS: Final = MigrationOptions(
    inventory=INVENTORY,
    folder=None,
    write=False,
    check=False,
    prove=False,
    proof_seconds=1,
    objects=(),
    allowed=(),
    jobs=1,
)


def migrated(*paths: Path | str, stdin: str = "", **changes: Any) -> Migration:
    """Return the migration of paths; changes: options that differ."""
    inventory = replace(INVENTORY, paths=tuple(map(str, paths)))
    options = replace(OPTIONS, inventory=inventory, **changes)
    return migrate(options, io.StringIO(stdin), lambda _: None, lambda _: nullcontext(lambda: None))
