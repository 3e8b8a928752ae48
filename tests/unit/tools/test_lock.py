"""requirements.lock: closed under its own requirements, and what a build pins."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hatch_build import pinned

ROOT = Path(__file__).parents[3]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["metadata"]
RANGES: list[str] = HOOK["hooks"]["custom"]["requires"]
EXTRAS: dict[str, list[str]] = HOOK["hooks"]["custom"]["extras"]
PINS = dict(re.findall(r"^(\S+)==(\S+)", LOCK, re.MULTILINE))


def required(name: str, extras: frozenset[str], python: str) -> Iterator[Requirement]:
    """Yield what the installed package of a name requires with these extras."""
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        environments = ({"extra": e, "python_version": python} for e in (extras or {""}))
        if requirement.marker is None or any(map(requirement.marker.evaluate, environments)):
            yield requirement


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_has_all_that_its_packages_require(python: str) -> None:
    wanted = [Requirement(each) for ranges in (RANGES, *EXTRAS.values()) for each in ranges]
    seen: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        requirement = wanted.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        assert name in PINS, f"requirements.lock does not have {requirement}"
        assert requirement.specifier.contains(PINS[name], prereleases=True), requirement
        if (name, extras) not in seen:
            seen.add((name, extras))
            wanted += required(name, extras, python)


def test_a_build_requires_what_the_lock_pins() -> None:
    core = pinned(RANGES, LOCK)
    assert {Requirement(each).name for each in core} > {"markupsafe", "pathspec", "urllib3"}
    for ranges in (RANGES, *EXTRAS.values()):
        for each in map(Requirement, pinned(ranges, LOCK)):
            assert str(each.specifier) == f"=={PINS[each.name]}"


def test_what_every_installation_gets_is_deliberate() -> None:
    """Each of these is in an installation without extras: a new one costs everyone its size."""
    names = {Requirement(each).name for each in pinned(RANGES, LOCK)}
    assert names == {
        *("attrs", "certifi", "click", "google-re2", "idna", "jinja2"),
        *("jmespath", "jsonschema", "jsonschema-specifications", "markupsafe", "pathspec"),
        *("pyyaml", "referencing", "rpds-py", "semver", "typing-extensions"),
        *("tzdata", "urllib3"),
    }


def test_helm_is_an_extra_alone() -> None:
    assert not any(each.startswith("helm") for each in pinned(RANGES, LOCK))
    assert [each.split("==")[0] for each in pinned(EXTRAS["helm"], LOCK)] == ["helm-python-sdk"]


def test_a_requirement_that_the_lock_does_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not have no-such-package: run `make lock`"):
        pinned(["no_such.package>=1"], LOCK)


INSTALLS = re.compile(r"pip3? (?:install|download)[^\n`]*(?:requirements\.lock|--require-hashes)")


def test_no_command_resolves_the_lock_again() -> None:
    """Asked to resolve a lock, pip looks at packages younger than those that it pins."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() or ["Makefile", "Dockerfile"]
    suffixes = {"", ".md", ".yml", ".yaml", ".sh", ".toml"}
    files = [ROOT / name for name in names if Path(name).suffix in suffixes]
    found = 0
    for file in files:
        if not file.is_file() or "tests" in file.relative_to(ROOT).parts:
            continue
        for command in INSTALLS.findall(file.read_text("utf-8", "replace").replace("\\\n", " ")):
            found += 1
            assert "--no-deps" in command, f"{file}: {command}"
    assert found >= 2
