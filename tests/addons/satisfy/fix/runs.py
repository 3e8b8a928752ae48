"""Runs `chartkit scan --fix` in this process."""

from pathlib import Path

from click.testing import CliRunner, Result

from chartkit.cli.scan import scan
from tests.data import beside

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]


def written(folder: Path, **texts: str) -> Path:
    """Write `pods.yaml` in `policies`, and texts to `objects` by their names without suffix;
    return the latter folder."""
    for name, text in {"policies/pods": POLICY, **texts}.items():
        file = folder / (f"{name}.yaml" if "/" in name else f"objects/{name}.yaml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return folder / "objects"


def fix(folder: Path, *arguments: str, stdin: str | None = None, path: str = "") -> Result:
    """Run the fix with the policies beside a folder."""
    given = [path or str(folder), "--fix", "-p", str(folder.parent / "policies"), *arguments]
    result = CliRunner().invoke(scan, given, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
