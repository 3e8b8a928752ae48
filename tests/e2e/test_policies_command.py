"""`chartkit policies` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.command import chartkit
from tests.unit.catalog.library_files import write_lock, write_plain


def _vendored(folder: Path) -> Path:
    root = folder / "vendor" / "public"
    write_plain(root, "best/require-team")
    write_plain(root, "other/require-team", name="team")
    write_lock(root)
    return root


def test_lists_and_finds_policies_of_every_library(tmp_path: Path) -> None:
    _vendored(tmp_path)
    cache = str(tmp_path / "cache")
    done = chartkit(tmp_path, "policies", "list", "-o", "json", CHARTKIT_CACHE=cache)
    assert (done.code, done.err) == (0, "")
    listed = json.loads(done.out)
    assert {each["library"] for each in listed} == {"chartkit", "public"}
    done = chartkit(
        tmp_path, "policies", "search", "team", "--subject", "pod", CHARTKIT_CACHE=cache
    )
    assert done.code == 0
    assert "best/require-team" in done.out
    assert done.out.splitlines()[-1] == "2 policies"
    done = chartkit(tmp_path, "policies", "search", "nothing-says-this", CHARTKIT_CACHE=cache)
    assert (done.code, done.out) == (1, "0 policies\n")
    done = chartkit(tmp_path, "policies", "list", "--severity", "hihg", CHARTKIT_CACHE=cache)
    assert done.code == 2
    assert done.line == "no policy has the severity 'hihg' (did you mean 'high'?)"


def test_shows_a_policy(tmp_path: Path) -> None:
    root = _vendored(tmp_path)
    done = chartkit(tmp_path, "policies", "show", "best/require-team")
    assert done.code == 0
    assert "an example that it refuses" in done.out
    done = chartkit(tmp_path, "policies", "show", "baseline/disallow-host-path", "-o", "json")
    assert json.loads(done.out)["forms"] == ["ClusterPolicy", "ValidatingPolicy"]
    done = chartkit(tmp_path, "policies", "show", "require-team")
    assert done.code == 2
    assert "public/best/require-team, public/other/require-team" in done.line
    done = chartkit(tmp_path, "policies", "show", "best/requir-team")
    assert done.line == (
        "there is no policy 'best/requir-team' (did you mean 'best/require-team' or "
        "'other/require-team'?)"
    )
    file = root / "best" / "require-team" / "require-team.yaml"
    file.write_text(file.read_text() + "# more\n")
    done = chartkit(tmp_path, "policies", "show", "best/require-team")
    assert done.code == 0
    assert done.line.endswith("require-team.yaml: was changed since it was vendored")
