"""What is installed without extras does everything but what the extras are for."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from tests.data import beside, tables

_TEXTS = beside(__file__)

_RUN = """
import json, sys
commands, absent = json.loads(sys.argv[1])
for name in absent:
    sys.modules[name] = None
from chartkit.cli.main import main
for command in commands:
    sys.argv = ["chartkit", *command]
    try:
        main()
        code = 0
    except SystemExit as error:
        code = error.code or 0
    print("\\x1e", code, flush=True)
"""
_NEEDED = re.compile(r"[\w.-]+")


def _needed(name: str) -> Iterator[str]:
    """Yield the distributions that one needs without extras, itself first."""
    todo, found = [name], set[str]()
    while todo:
        here = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if here not in found:
            found.add(here)
            yield here
            try:
                requires = metadata.requires(here) or []
            except metadata.PackageNotFoundError:
                continue
            todo += [_NEEDED.match(one)[0] for one in requires if "extra ==" not in one]  # type: ignore[index]


def _absent() -> list[str]:
    """Return the modules of the environment that only extras bring."""
    needed = {*_needed("chartkit"), *_needed("helm-python-sdk")}
    own = {re.sub(r"[-_.]+", "-", name).lower() for name in needed}
    modules = metadata.packages_distributions().items()
    return sorted(
        module
        for module, owners in modules
        if not own.intersection(re.sub(r"[-_.]+", "-", owner).lower() for owner in owners)
    )


@pytest.mark.slow
def test_commands_run_without_extras(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(_TEXTS["pod"])
    (tmp_path / "signed.yaml").write_text(_TEXTS["signed"])
    commands = tables(__file__)["commands"]
    given = json.dumps([[each.split() for each in commands], _absent()])
    done = subprocess.run(
        [sys.executable, "-c", _RUN, given],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "cryptography" in given
    codes = [int(part) for part in re.findall("^\x1e (.*)$", done.stdout, re.MULTILINE)]
    said = done.stdout + done.stderr
    assert dict(zip(commands, codes, strict=True)) == commands, said
    assert "Traceback" not in said
    assert "bug" not in said
