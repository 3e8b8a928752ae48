"""`chartkit vendor chart` from a server on loopback, and `render` with what it took."""

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import chartkit, snapshot
from tests.e2e.transcript import check_page
from tests.unit.charts.upstream.vendored_files import (
    PROJECT,
    chart,
    index,
    packed_chart,
    repository,
)
from tests.unit.network.downloads.archive_files import tar_of, zeros_bomb
from tests.unit.network.downloads.hostile_server import Answer, Server, body, hang, serving


def _below(folder: str, answers: dict[str, Answer]) -> dict[str, Answer]:
    return {f"/{folder}{path}": answer for path, answer in answers.items()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "chartkit.yaml").write_text(PROJECT)
    return tmp_path


@pytest.fixture(scope="module")
def charts() -> Iterator[Server]:
    newer, policies = chart(version="3.9.1", app="v1.19.1"), chart("kyverno-policies")
    answers = {
        **_below("kyverno", repository(chart(), newer)),
        **_below("kyverno-policies", repository(policies, name="kyverno-policies")),
        **_below("changed", repository({**chart(), "README.md": b"# Other words\n"})),
        **_below("tampered", repository(newer)),
    }
    tampered = packed_chart({**newer, "templates/more.yaml": b"kind: More\n"})
    with serving({**answers, "/tampered/kyverno-3.9.1.tgz": body(tampered)}) as server:
        yield server


@pytest.mark.slow
def test_vendor_chart_page_is_true(
    project: Path, charts: Server, request: pytest.FixtureRequest
) -> None:
    letters: dict[str, str] = {}

    def letter(found: re.Match[str]) -> str:
        # The digest of an archive depends on the system's zlib.
        return letters.setdefault(found[0], "abcdef"[len(letters)] * 8) + "…"

    def scrub(text: str) -> str:
        told = text.replace(charts.url, "https://charts.example.com")
        return re.sub(r"\b[0-9a-f]{64}\b", letter, told)

    update = request.config.getoption("--update-golden")
    check_page("how-to/vendor-chart.md", project, update, {"CHARTS": charts.url}, scrub)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (tar_of([(tarfile.TarInfo("../../x"), b"x")]), "leads out of its folder"),
        (zeros_bomb(30_000_000), "unpacks to more than 100 times its size"),
        (packed_chart(chart())[:-20], "the archive is cut or damaged"),
        (None, "the server sent nothing for 2 seconds, in 3 attempts"),
    ],
    ids=["climbing", "oversized", "cut", "hanging"],
)
def test_vendor_chart_refusals(project: Path, content: bytes | None, said: str) -> None:
    before = snapshot(project)
    answers: dict[str, Answer] = {
        "/index.yaml": body(index("kyverno", {"3.9.0": (content or b"", "x.tgz")})),
        "/x.tgz": hang if content is None else body(content),
    }
    with serving(answers) as server:
        options = ("--version", "3.9.0", "--from", server.url, "--timeout", "2")
        done = chartkit(project, "vendor", "chart", "kyverno", *options)
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith(f"{server.url}/x.tgz: ")
    assert said in done.line
    assert snapshot(project) == before


@pytest.mark.slow
def test_vendor_chart_usage_errors(project: Path) -> None:
    done = chartkit(project, "vendor", "chart", "kyverno")
    assert done.code == 2
    assert "--version" in done.err
    done = chartkit(project, "vendor", "chart", "kiverno", "--version", "1")
    assert (done.code, done.line) == (
        2,
        "'kiverno' is not a chart that is vendored (did you mean 'kyverno'?)",
    )
