"""What `make setup` installs from an index that has younger packages than the lock."""

import hashlib
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIRES = {"inner": [], "outer": ["inner[more]>=1"], "more": []}
EXTRA = 'Provides-Extra: more\nRequires-Dist: more>=1; extra == "more"\n'


def wheel(folder: Path, name: str, version: str) -> Path:
    """Write a wheel of a package without any module."""
    file = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    head += "".join(f"Requires-Dist: {each}\n" for each in REQUIRES[name])
    # The younger one asks for what the lock does not have.
    head += EXTRA if name == "inner" else ""
    head += "Requires-Dist: absent\n" if version == "2.0" else ""
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{info}/METADATA", head)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return file


def index_of(folder: Path) -> str:
    """Write an index with two versions of each package; return a lock of the older ones."""
    lock = ""
    for name in REQUIRES:
        page = folder / "simple" / name
        page.mkdir(parents=True)
        files = [wheel(page, name, version) for version in ("1.0", "2.0")]
        links = "".join(f'<a href="{file.name}">{file.name}</a>\n' for file in files)
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
        digest = hashlib.sha256(files[0].read_bytes()).hexdigest()
        lock += f"{name}==1.0 --hash=sha256:{digest}\n"
    return lock


@pytest.mark.slow
def test_make_setup_takes_the_locked_packages(tmp_path: Path) -> None:
    """The command of the Makefile, with an index of its own."""
    (tmp_path / "requirements.lock").write_text(index_of(tmp_path))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    found = re.search(r"\$\(BIN\)/python -m pip (install .*requirements\.lock)", makefile)
    assert found is not None
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin/python")]
    source = ["--index-url", (tmp_path / "simple").as_uri(), "--isolated"]
    done = subprocess.run(
        [*pip, *shlex.split(found[1]), *source], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    listed = subprocess.run([*pip, "freeze"], capture_output=True, text=True, check=True).stdout
    assert listed.split() == ["inner==1.0", "more==1.0", "outer==1.0"]
    subprocess.run([*pip, "check"], check=True, capture_output=True)
