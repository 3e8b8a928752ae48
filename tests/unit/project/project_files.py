"""Writes small projects for tests."""

from pathlib import Path

from chartkit.project.project import Project, read_project
from tests.data import beside

_TEXTS = beside(__file__)

METADATA = _TEXTS["metadata"]
POLICY = _TEXTS["policy"]
GOOD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n"


def write_policy(
    library: Path,
    reference: str,
    policy: str = POLICY,
    minimum: str = "1.6",
    more: str = "",
    category: str = "Tests",
) -> Path:
    """One policy folder; more: further lines of its metadata. Gives the folder."""
    folder = library / reference
    folder.mkdir(parents=True)
    name = folder.name
    (folder / "policy.yaml").write_text(policy.replace("{name}", name))
    metadata = METADATA.format(title=name, category=category, minimum=minimum) + more
    (folder / "metadata.yaml").write_text(metadata)
    (folder / "good.yaml").write_text(GOOD.format(name=name))
    (folder / "bad.yaml").write_text(GOOD.format(name="other"))
    return folder


def write_profile(file: Path, spec: str) -> Path:
    """One profile file; spec: what stands below `spec`, from the first column."""
    lines = "".join(f"  {line}\n" for line in spec.strip().splitlines())
    name = file.stem
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f"apiVersion: chartkit.dev/v1\nkind: Profile\nmetadata:\n  name: {name}\n"
        f"spec:\n  title: {name}\n{lines}"
    )
    return file


def write_project(root: Path, text: str) -> Project:
    """chartkit.yaml in root, read."""
    (root / "chartkit.yaml").write_text(text)
    return read_project(root)
