"""The wheel: its size, and what of it works without the packages of extras."""

import json
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hatch_build import pinned
from tests.unit.tools.test_lock import LOCK, RANGES

ROOT = Path(__file__).parents[2]
CORE = 3_000_000
"""The most bytes of what is no add-on."""
WHOLE = 3_500_000
_HEADERS = 76
"""The bytes of a file's two headers in an archive, but for its name in each."""
_IMPORTS = """
import importlib, json, pkgutil, sys
refused = set(json.loads(sys.argv[1]))

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Refusing())
import chartkit
names = [each.name for each in pkgutil.walk_packages(chartkit.__path__, "chartkit.")
         if not each.name.startswith(("chartkit.addons.", "chartkit.__main__"))]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


@pytest.mark.slow
def test_the_wheel_is_small(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    subprocess.run([*command, str(tmp_path), str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        core = [each for each in archive.infolist() if "/addons/" not in each.filename]
    assert sum(each.compress_size + _HEADERS + 2 * len(each.filename) for each in core) <= CORE
    assert wheel.stat().st_size <= WHOLE


@pytest.mark.slow
def test_the_core_is_imported_without_the_packages_of_extras() -> None:
    core = {canonicalize_name(Requirement(each).name) for each in pinned(RANGES, LOCK)}
    refused = [
        package
        for package, owners in packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & {*core, "chartkit"}
    ]
    assert {"helm_python", "sigstore", "kubernetes"} & set(refused)
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS, json.dumps(refused)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
