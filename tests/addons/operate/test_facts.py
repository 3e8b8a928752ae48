"""`chartkit facts update`: facts in place of chartkit's own."""

import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from chartkit.kyverno import releases
from tests.data import from_table
from tests.e2e.command import Done, chartkit
from tests.e2e.transcript import check_page
from tests.git_server import Served, serving

_OWN = releases.own_facts()
_DAY = str(_OWN.day + timedelta(days=30))


def newer(**changes: Any) -> str:
    """A file of facts in which Kyverno 1.99 is out and Kubernetes 1.35 removed an API."""
    body = json.loads(json.dumps(_OWN.body))
    body["kyverno"].insert(0, {"version": "1.99", "kubernetes": ["1.36", "1.39"]})
    row = {"kubernetes": "1.35", "apiVersion": "shop.example.com/v1", "kinds": ["Basket"]}
    body["removedApis"].append(row)
    return json.dumps({**body, "date": _DAY, **changes})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CHARTKIT_TODAY", str(_OWN.day + timedelta(days=40)))
    return tmp_path


def written(folder: Path, text: str) -> str:
    """Write a file and the digest beside it; return the digest."""
    (folder / "facts.json").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "facts.json.sha256").write_text(f"{digest}  facts.json\n")
    return digest


def updated(folder: Path, text: str | None = None, *options: str) -> Done:
    written(folder, newer() if text is None else text)
    return chartkit(folder, "facts", "update", "facts.json", *options)


def test_the_page_of_facts_shows_what_is_printed(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    check_page("reference/facts.md", folder, request.config.getoption("--update-golden"))


def test_newer_facts_are_used_until_they_are_taken_back(folder: Path) -> None:
    ask = ("check-compat", "--kyverno", "1.99", "--kubernetes", "1.39", "-o", "json")
    assert chartkit(folder, *ask).code == 2
    done = updated(folder)
    digest = hashlib.sha256((folder / "facts.json").read_bytes()).hexdigest()
    shown = f"facts of {_DAY}, facts.json, SHA-256 {digest[:12]}…"
    assert (done.code, done.out, done.err) == (0, f"in use now: {shown}\n", "")
    assert chartkit(folder, "--version", "--verbose").out.splitlines()[1] == shown
    report = json.loads(chartkit(folder, *ask).out)
    assert report["facts"] == {"date": _DAY, "source": "facts.json"}
    assert report["subjects"][0]["status"] == "supported"
    known = json.loads(chartkit(folder, "check-compat", "--kubernetes", "1.39", "-o", "json").out)
    assert known["subjects"][0]["fittingKyverno"] == ["1.99"]
    done = chartkit(folder, "facts", "update", "--reset")
    assert done.out == f"in use again: facts of {_OWN.day}, of this version\n"
    assert chartkit(folder, *ask).code == 2


@pytest.mark.slow
def test_the_policy_of_removed_apis_follows_the_facts(folder: Path) -> None:
    basket = {"apiVersion": "shop.example.com/v1", "kind": "Basket", "metadata": {"name": "b"}}
    (folder / "basket.json").write_text(json.dumps(basket))
    for policy_type in ("ClusterPolicy", "ValidatingPolicy"):
        scan = ("scan", "basket.json", "-p", "eks-best-practices", "--policy-type", policy_type)
        chartkit(folder, "facts", "update", "--reset")
        assert chartkit(folder, *scan).code == 0
        assert updated(folder).code == 0
        assert chartkit(folder, *scan).code == 1


def test_facts_are_old_after_ninety_days(folder: Path) -> None:
    updated(folder)
    for days, code in ((120, False), (121, True)):
        today = str(_OWN.day + timedelta(days=days))
        done = chartkit(folder, "check-compat", "--kyverno", "1.99", CHARTKIT_TODAY=today)
        note = f"note CK107: what is known of releases is 91 days old ({_DAY})"
        assert (done.code, note in done.out) == (0, code)
    done = chartkit(folder, "check-compat", "--kyverno", "1.99", CHARTKIT_TODAY="today")
    assert (done.code, done.line) == (
        2,
        "CHARTKIT_TODAY is 'today', which is not a day (write it as 2026-01-31)",
    )


@pytest.fixture
def server(folder: Path) -> Iterator[Served]:
    with serving(folder / "repositories") as served:
        served.files["/facts.yaml"] = newer().encode()
        yield served


def test_facts_of_a_url_have_their_digest_with_them(server: Served, folder: Path) -> None:
    url = f"{server.url}/facts.yaml"
    digest = hashlib.sha256(newer().encode()).hexdigest()
    done = chartkit(folder, "facts", "update", url)
    assert (done.code, "nothing names the SHA-256 that it must have" in done.line) == (2, True)
    server.files["/facts.yaml.sha256"] = b"0" * 64
    done = chartkit(folder, "facts", "update", url)
    assert done.line.startswith(f"{url}: has the SHA-256 {digest}, and not {'0' * 64}")
    server.files["/facts.yaml.sha256"] = f"{digest}  facts.yaml\n".encode()
    assert chartkit(folder, "facts", "update", url).code == 0
    server.files["/facts.yaml.sha256"] = b"0" * 64
    assert chartkit(folder, "facts", "update", f"{url}#sha256={digest}").code == 0
    assert chartkit(folder, "facts", "update", url, "--sha256", digest.upper()).code == 0
    server.files["/facts.yaml"] = b" " * ((1 << 20) + 1)
    done = chartkit(folder, "facts", "update", url)
    assert "is larger than 1,048,576 bytes" in done.line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "facts.json: must hold one document"),
        ("{}", "facts.json:1: the file has no 'schemaVersion' (and 6 more in this file)"),
        ("[1", "facts.json:2:1: is not YAML"),
        ("\x00", "facts.json: is not text: it holds a NUL byte"),
        (newer(schemaVersion=2), "'schemaVersion': 1 was expected"),
        (newer(date="2026-02-30"), "2026-02-30 is not a day"),
        (newer(date="2999-01-01"), "2999-01-01 is not yet"),
        (newer(eks=[]), "'eks' has no 1.23, which chartkit knows"),
        (newer(kyverno=_OWN.body["kyverno"][1:]), "'kyverno' has no 1.6, which chartkit knows"),
        (newer(kyverno=[{"version": "1.99"}]), "which Kubernetes versions Kyverno 1.99 supports"),
        (newer(faults=[{"name": "x"}]), "'faults.0' has no 'affected'"),
        (newer(removedApis=[{"kubernetes": "1.9", "apiVersion": "{{a}}", "kinds": ["A"]}]), "form"),
        ("[" * 100_000, "facts.json:1"),
    ],
)
def test_facts_that_are_none_are_refused(folder: Path, text: str, message: str) -> None:
    done = updated(folder, text)
    assert (done.code, done.out) == (2, "")
    assert message in done.line
    assert not (folder / "cache" / "facts").exists()


@from_table("arguments", "message")
def test_mistakes_of_the_command_line(folder: Path, arguments: list[str], message: str) -> None:
    written(folder, newer())
    done = chartkit(folder, "facts", "update", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.line


def test_older_facts_take_the_place_of_none(folder: Path) -> None:
    done = updated(folder, newer(date=str(_OWN.day)))
    assert done.out.startswith(f"nothing changed: {_OWN.day} is not newer than facts of")
    assert updated(folder).code == 0
    done = updated(folder, newer(date=str(_OWN.day + timedelta(days=1))))
    assert f"is older than the facts in use, of {_DAY}" in done.line


def test_kept_facts_that_are_damaged_are_not_used(folder: Path) -> None:
    updated(folder)
    (file,) = (folder / "cache" / "facts").iterdir()
    kept = json.loads(file.read_text())
    for text in ("{", "[]", json.dumps({**kept, "value": {"body": {"date": "2999-01-01"}}})):
        file.write_text(text)
        assert chartkit(folder, "--version", "--verbose").out.endswith("of this version\n")
    (folder / "cache" / "facts").chmod(0o777)
    file.write_text(json.dumps(kept))
    assert chartkit(folder, "--version", "--verbose").out.endswith("of this version\n")


def test_facts_that_cannot_be_kept(folder: Path) -> None:
    (folder / "cache").write_text("")
    done = updated(folder)
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith(f"the facts cannot be kept in {folder / 'cache' / 'facts'}")
