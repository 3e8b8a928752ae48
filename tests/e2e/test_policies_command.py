"""`chartkit policies` from the outside."""

import json
from pathlib import Path

import pytest

from tests.e2e.command import chartkit
from tests.unit.catalog.library_files import write_lock, write_plain
from tests.unit.network.downloads.archive_files import FILES, announced_bomb, tar_gz
from tests.unit.network.downloads.hostile_server import body, hang, in_turn, serving


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own cache stays as it is."""
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path_factory.mktemp("cache")))


def _vendored(folder: Path) -> Path:
    root = folder / "vendor" / "public"
    write_plain(root, "best/require-team")
    write_plain(root, "other/require-team", name="team")
    write_lock(root)
    return root


@pytest.mark.slow
def test_lists_and_finds_policies_of_every_library(tmp_path: Path) -> None:
    _vendored(tmp_path)
    done = chartkit(tmp_path, "policies", "list", "-o", "json")
    assert (done.code, done.err) == (0, "")
    listed = json.loads(done.out)["policies"]
    assert {each["library"] for each in listed} == {"chartkit", "public"}
    done = chartkit(tmp_path, "policies", "search", "team", "--subject", "pod")
    assert done.code == 0
    assert "best/require-team" in done.out
    assert done.out.splitlines()[-1] == "2 policies"
    done = chartkit(tmp_path, "policies", "search", "nothing-says-this")
    assert (done.code, done.out) == (1, "0 policies\n")
    done = chartkit(tmp_path, "policies", "list", "--severity", "hihg")
    assert done.code == 2
    assert done.line == "no policy has the severity 'hihg' (did you mean 'high'?)"


@pytest.mark.slow
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


@pytest.mark.slow
def test_vendors_a_library_and_updates_it(tmp_path: Path) -> None:
    changed = dict(FILES) | {"best/two/two.yaml": FILES["best/two/two.yaml"] + b"# more\n"}
    answer = in_turn(body(tar_gz(FILES)), body(tar_gz(changed)))
    with serving({"/public.tar.gz": answer}) as server:
        url = f"{server.url}/public.tar.gz"
        done = chartkit(tmp_path, "policies", "vendor", url)
        assert (done.code, done.err) == (0, "")
        assert done.out == f"vendor/public: 2 policies in 2 files from {url}\n"
        done = chartkit(tmp_path, "policies", "search", "best/one")
        assert "best/one" in done.out
        done = chartkit(tmp_path, "policies", "vendor", url)
        assert done.code == 2
        assert done.line.startswith("vendor/public: is there already")
        done = chartkit(tmp_path, "policies", "update")
        assert done.code == 1
        assert "  changed  best/two: +1 -0 lines in 1 file\n" in done.out
        assert (tmp_path / "vendor/public/best/two/two.yaml").read_bytes() in FILES.values()
        done = chartkit(tmp_path, "policies", "update", "public", "--yes", "--diff")
        assert done.code == 0
        assert "\n+# more\n" in done.out
        done = chartkit(tmp_path, "policies", "update")
        assert (done.code, done.out) == (0, "public: nothing changed\n")
    done = chartkit(tmp_path, "policies", "update", "--ref", "main")
    assert done.code == 2
    assert "need the NAME" in done.err


@pytest.mark.slow
def test_what_is_refused_is_told_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    answers = {"/bomb.tar.gz": body(announced_bomb(10 * 2**30)), "/hangs.zip": hang}
    with serving(answers) as server:
        done = chartkit(tmp_path, "policies", "vendor", f"{server.url}/bomb.tar.gz")
        assert done.code == 2
        assert done.line == f"{server.url}/bomb.tar.gz: has a file of more than 16,000,000 bytes"
        url = f"{server.url}/hangs.zip"
        done = chartkit(tmp_path, "policies", "vendor", url, "--timeout", "1")
        assert done.code == 2
        assert done.line.startswith(f"{url}: the server sent nothing for 1 seconds, in 3 attempts")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_starts_and_checks_a_policy(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "policies", "new", "ours/require-team", "--kind", "validate")
    assert done.code == 0
    assert f"wrote {Path('policies/ours/require-team/policy.yaml')}\n" in done.out
    line = "for a project with this library: `chartkit init`, then add library: [policies]\n"
    assert line in done.out
    done = chartkit(tmp_path, "policies", "check", "policies")
    assert (done.code, done.out) == (0, "1 policy checked: 0 errors, 0 warnings\n")
    (tmp_path / "policies/ours/require-team/bad.yaml").unlink()
    done = chartkit(tmp_path, "policies", "check", "policies", "-o", "json")
    assert done.code == 1
    assert {each["rule"] for each in json.loads(done.out)["findings"]} == {"CK513", "CK516"}
    done = chartkit(tmp_path, "policies", "new", "ours/require-team", "--kind", "mutate")
    assert done.code == 2
    assert "is there already" in done.line


@pytest.mark.parametrize("library", ["5", "true", "own", "{own: 1}", "[5]", "[null]", "[[own]]"])
@pytest.mark.parametrize("command", [["new", "a/b", "--kind", "validate"], ["list"], ["check"]])
def test_a_library_of_another_type(tmp_path: Path, library: str, command: list[str]) -> None:
    (tmp_path / "chartkit.yaml").write_text(f"environments: {{}}\nlibrary: {library}\n")
    done = chartkit(tmp_path, "policies", *command)
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith("chartkit.yaml:2:1: library must be a list of folders")


@pytest.mark.slow
def test_a_changed_vendored_library_is_refused(tmp_path: Path) -> None:
    root = _vendored(tmp_path)
    done = chartkit(tmp_path, "policies", "check", "vendor/public")
    assert done.code == 0
    file = root / "best" / "require-team" / "require-team.yaml"
    file.write_text(file.read_text() + "# more\n")
    done = chartkit(tmp_path, "policies", "check", "vendor/public")
    assert done.code == 1
    assert "error CK501: was changed since it was vendored" in done.out
    done = chartkit(tmp_path, "policies", "update", "--yes")
    assert done.code == 2
    assert "was changed since it was vendored" in done.line


_PROJECT = """\
profiles: [pss-baseline]
environments:
  dev: {kyverno: "1.19", kubernetes: "1.34", action: Enforce}
  prd: {kyverno: "1.19", kubernetes: "1.34"}
"""


def test_shows_what_covers_a_standard(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text(_PROJECT)
    done = chartkit(tmp_path, "policies", "coverage", "--standard", "pss", "--project", ".")
    assert (done.code, done.err) == (0, "")
    assert "dev: of 19 that policies cover, 12 enforced, 7 not in force\n" in done.out
    assert "prd: of 19 that policies cover, 12 audited, 7 not in force\n" in done.out
    done = chartkit(tmp_path, "policies", "coverage", "--standard", "cis", "-o", "json")
    assert json.loads(done.out)["standard"] == "cis"
    done = chartkit(tmp_path, "policies", "coverage", "--standard", "nist")
    assert done.code == 2
    assert done.line.startswith("there is no standard 'nist' (")


@pytest.mark.slow
def test_writes_pages_and_tells_when_they_are_not_in_step(tmp_path: Path) -> None:
    _vendored(tmp_path)
    command = ("policies", "docs", "public", "--output", "pages")
    done = chartkit(tmp_path, *command)
    assert (done.code, done.out) == (0, "wrote 3 pages to pages\n")
    assert chartkit(tmp_path, *command, "--check").code == 0
    (tmp_path / "pages" / "README.md").write_text("mine\n")
    done = chartkit(tmp_path, *command, "--check")
    assert (done.code, done.out) == (1, "pages/README.md: is not as the policy is now\n")
    done = chartkit(tmp_path, *command)
    assert done.code == 2
    assert done.line.startswith("pages/README.md: was not written by `policies docs`")
