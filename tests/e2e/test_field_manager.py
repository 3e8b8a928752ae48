"""The installed command writes as `helm` does, so that both own the same fields."""

from __future__ import annotations

import subprocess
import sys

import pytest

_CODE = """
from chartkit.addons.operate.install.library import write_as_helm
assert write_as_helm()
print(open("/proc/self/cmdline", "rb").read().split(b"\\0")[0].decode())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the name of a process is set on Linux alone")
def test_the_process_is_called_helm_before_its_library_is_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CODE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().rpartition("/")[2] == "helm"
