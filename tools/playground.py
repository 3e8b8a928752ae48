"""Builds the playground, a page of static files, in build/site/playground or another folder.

    python tools/playground.py [FOLDER]

`make site` runs it after MkDocs. It needs node and npm; without them it says so, and there is no
page. The page has Pyodide and esbuild from npm, as docs/playground/package-lock.json pins them, and
chartkit with what it imports from this Python's packages, which requirements.lock pins.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from chartkit.addons.playground.library import FILE, library
from chartkit.addons.playground.server import POLICY

_ROOT: Final = Path(__file__).parent.parent
_SOURCES: Final = _ROOT / "docs" / "playground"
_WORK: Final = _ROOT / "build" / "playground"
_PAGE: Final = _ROOT / "build" / "site" / "playground"
_LOCK: Final = "pyodide-lock.json"
_PYODIDE: Final = ("pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", _LOCK)
_STAND_INS: Final = {"re2.py": "re2.py", "rpds.py": "rpds.py", "libyaml.py": "yaml/_yaml.py"}
_SCRIPT: Final = _WORK / "engine.mjs"
_PACKAGES: Final = (
    "attr",
    "attrs",
    "click",
    "jmespath",
    "jsonschema",
    "jsonschema_specifications",
    "referencing",
    "semver",
    "urllib3",
    "yaml",
)
"""What the engine imports; what of these is compiled has a stand-in in the page."""
_LEFT_OUT: Final = frozenset(
    {
        *(f"addons/{name}" for name in ("lsp", "mcp", "operate", "serve", "signatures")),
        *(f"addons/playground/{name}" for name in ("guides", "stand_ins")),
        *("catalog", "charts/upstream", "render"),
    }
)
"""Folders of chartkit that the page does not need."""
_POLICY: Final = re.compile(r'(http-equiv="Content-Security-Policy" content=")[^"]*')
_HASH: Final = 12
"""The characters of a content's hash in a name."""


class MissingError(Exception):
    """Something that builds the page is not there."""


def build(page: Path) -> None:
    """Write the page anew; raise MissingError."""
    install()
    # Node finds packages next to a module.
    shutil.copy(Path(__file__).with_name("playground_engine.mjs"), _SCRIPT)
    shutil.rmtree(page, ignore_errors=True)
    page.mkdir(parents=True)
    engine = _named(_engine(), page / "engine")
    worker = _named(bundle("worker.ts", ENGINE=engine), page / "worker.js")
    main = _named(bundle("main.ts", WORKER=worker), page / "main.js")
    style = _named(bundle("style.css", ".css"), page / "style.css")
    text = (_SOURCES / "index.html").read_text("utf-8")
    text = _POLICY.sub(lambda found: found[1] + POLICY, text)
    for name, built in (("main.js", main), ("style.css", style)):
        text = text.replace(f'"{name}"', f'"{built}"')
    (page / "index.html").write_text(text, "utf-8")


def install() -> None:
    """Install the packages of npm, unless those of the lock are there; raise MissingError."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        raise MissingError(f"it is built with {' and '.join(missing)}")
    _WORK.mkdir(parents=True, exist_ok=True)
    lock = (_SOURCES / "package-lock.json").read_text("utf-8")
    installed = _WORK / "installed.json"
    if installed.is_file() and installed.read_text("utf-8") == lock:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_SOURCES / name, _WORK)
    try:
        _run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
    except subprocess.CalledProcessError:
        raise MissingError("npm cannot install what builds it") from None
    installed.write_text(lock, "utf-8")


def _run(*command: str, **environment: str) -> None:
    known = {**os.environ, "NODE_PATH": str(_WORK / "node_modules"), **environment}
    subprocess.run(command, cwd=_WORK, env=known, check=True)


def bundle(source: str, extension: str = ".js", **names: str) -> Path:
    """Return the bundle of a source; names: of other files, which it has as constants."""
    made = (_WORK / source).with_suffix(extension)
    defined = (f'--define:{name}="{text}"' for name, text in names.items())
    options = ("--bundle", "--minify", "--format=esm", "--external:node:*", "--log-level=warning")
    esbuild = str(_WORK / "node_modules" / ".bin" / "esbuild")
    _run(esbuild, str(_SOURCES / source), f"--outfile={made}", *options, *defined)
    return made


def _named(made: Path, wanted: Path) -> str:
    """Copy a file or folder into the page, and return its name there, which has a hash of its
    content: a browser keeps it until another one takes its place."""
    files = sorted(made.rglob("*")) if made.is_dir() else [made]
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files if each.is_file()))
    name = f"{wanted.stem}-{digest.hexdigest()[:_HASH]}{wanted.suffix}"
    (shutil.copytree if made.is_dir() else shutil.copy)(made, wanted.with_name(name))
    return name


def _engine() -> Path:
    """Return the folder of the engine's files: Pyodide, chartkit with what it imports, and the
    memory of an engine that has imported it."""
    made, pack = _WORK / "engine", _WORK / "engine" / "chartkit.pack.gz"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    for name in _PYODIDE:
        shutil.copy(_WORK / "node_modules" / "pyodide" / name, made)
    # Pyodide needs no package of its own.
    lock = json.loads((made / _LOCK).read_bytes())
    (made / _LOCK).write_text(json.dumps({**lock, "packages": {}}), "utf-8")
    packages = _packages()
    found = sorted(each for each in packages.rglob("*") if each.is_file())
    contents = {each.relative_to(packages).as_posix(): each.read_bytes() for each in found}
    names = json.dumps([(name, len(content)) for name, content in contents.items()])
    packed = b"".join([names.encode(), b"\n", *contents.values()])
    pack.write_bytes(gzip.compress(packed, 6, mtime=0))
    unpack, re2 = (bundle(f"{name}.ts", ".mjs").as_uri() for name in ("unpack", "re2"))
    files = (pack, made / "memory.gz", Path(__file__).with_name("playground_engine.yaml"))
    _run("node", str(_SCRIPT), "snapshot", *map(str, files), UNPACK=unpack, RE2=re2)
    return made


def _packages() -> Path:
    """Return a folder with the compiled modules of chartkit and of what it imports."""
    packages, own = _WORK / "packages", Path("chartkit/addons/playground")
    shutil.rmtree(packages, ignore_errors=True)
    _copy(_ROOT / "chartkit", packages / "chartkit", _LEFT_OUT)
    for name in _PACKAGES:
        [found] = import_module(name).__path__
        _copy(Path(found), packages / name, frozenset({"tests", "benchmarks"}))
    for name, module in _STAND_INS.items():
        shutil.copy(_ROOT / own / "stand_ins" / name, packages / module)
    entries = json.dumps(library({}), ensure_ascii=False)
    (packages / own / FILE.name).write_text(entries, "utf-8")
    _run("node", str(_SCRIPT), "compile", str(packages))
    return packages


def _copy(source: Path, target: Path, left_out: frozenset[str] = frozenset()) -> None:
    """Copy a package without what is compiled and without some of its folders."""

    def ignored(folder: str, names: list[str]) -> set[str]:
        inside = Path(folder).relative_to(source)
        return {
            name
            for name in names
            if (inside / name).as_posix() in left_out or name.endswith(("__pycache__", ".so"))
        }

    shutil.copytree(source, target, ignore=ignored)


def main() -> int:
    """Build the page; say what is missing where it cannot be built."""
    page = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else _PAGE
    try:
        build(page)
    except MissingError as error:
        print(f"no playground: {error}", file=sys.stderr)  # noqa: T201
        return 0
    size = sum(each.stat().st_size for each in page.rglob("*") if each.is_file())
    print(f"{page}: {size / 1e6:.1f} MB")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
