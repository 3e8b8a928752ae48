"""`chartkit scan` of policies and objects that are named by URLs, and of object stores."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chartkit.report.outputs import parse_all
from tests.data import beside, from_table
from tests.e2e.command import Done, chartkit
from tests.e2e.test_scan import DEPLOYMENT, REQUIRE_LABELS
from tests.git_server import Served, repository, serving

_TEXTS = beside(__file__)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """A server with a policy, objects, an archive and a repository of both."""
    with serving(tmp_path / "repositories") as served:
        served.files["/policy.yaml"] = REQUIRE_LABELS.encode()
        served.files["/deployment.yaml"] = DEPLOYMENT.encode()
        served.files["/a/policies.tar.gz"] = _archive({"p-main/x/policy.yaml": REQUIRE_LABELS})
        (tmp_path / "deployment.yaml").write_text(DEPLOYMENT)
        (tmp_path / "policy.yaml").write_text(REQUIRE_LABELS)
        yield served


def _archive(files: dict[str, str]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return written.getvalue()


def test_a_policy_and_an_object_by_url(server: Served, tmp_path: Path) -> None:
    allow = ("--allow-network", server.place)
    policy, objects = f"{server.url}/policy.yaml", f"{server.url}/deployment.yaml"
    done = chartkit(tmp_path, "scan", objects, "-p", policy, *allow)
    assert done.code == 1
    assert f"Deployment/default/nginx  {objects}:1\n" in done.out
    assert f"{objects}:8:16  spec.template.metadata.labels.team" in done.out
    digest = hashlib.sha256(REQUIRE_LABELS.encode()).hexdigest()
    said = f"{policy}: note remote: is not pinned: it may be another the next time"
    assert f"{said} (#sha256={digest} pins what came now)" in done.err
    pinned = chartkit(
        tmp_path, "scan", "deployment.yaml", "-p", f"{policy}#sha256={digest}", *allow
    )
    assert (pinned.code, pinned.err) == (1, "")


def test_no_host_is_asked_that_is_not_named(server: Served, tmp_path: Path) -> None:
    policy = f"{server.url}/policy.yaml"
    done = chartkit(tmp_path, "scan", "deployment.yaml", "-p", policy)
    assert done.code == 2
    said = f"{policy}: {server.place} is not asked: --allow-network does not name it"
    assert done.err.splitlines() == [f"Error: {said}"] or said in done.err
    assert len(done.err.splitlines()) == 1
    assert server.asked == []


def test_redirects_lead_to_named_hosts_alone(server: Served, tmp_path: Path) -> None:
    server.redirects["/moved.yaml"] = "http://elsewhere.invalid/policy.yaml"
    server.redirects["/inside.yaml"] = "http://169.254.169.254/latest"
    for name, said in (
        ("moved.yaml", "elsewhere.invalid:80 is not asked: --allow-network does not name it"),
        ("inside.yaml", "169.254.169.254:80 is not asked"),
    ):
        arguments = ("-p", f"{server.url}/{name}", "--allow-network", server.place)
        done = chartkit(tmp_path, "scan", "deployment.yaml", *arguments)
        assert done.code == 2
        assert said in done.err


def test_another_content_than_the_pinned_one_is_refused(server: Served, tmp_path: Path) -> None:
    policy = f"{server.url}/policy.yaml#sha256={'0' * 64}"
    arguments = ("-p", policy, "--allow-network", server.place)
    done = chartkit(tmp_path, "scan", "deployment.yaml", *arguments)
    assert done.code == 2
    assert "and not the one that it is pinned to" in done.err


@pytest.mark.parametrize("path", ["", "//x", "//p-main/x", "//x/policy.yaml"])
def test_an_archive_and_a_folder_in_it(server: Served, tmp_path: Path, path: str) -> None:
    policies = f"{server.url}/a/policies.tar.gz{path}"
    arguments = ("-p", policies, "--allow-network", server.place, "-o", "json")
    done = chartkit(tmp_path, "scan", "deployment.yaml", *arguments)
    assert done.code == 1, done.err
    assert json.loads(done.out)["summary"]["fail"] == 1


def test_a_repository_by_branch_tag_and_commit(server: Served, tmp_path: Path) -> None:
    folder = server.root / "team" / "policies.git"
    first = repository(folder, {"policies/require.yaml": REQUIRE_LABELS, "README.md": "x\n"})
    audit = REQUIRE_LABELS.replace("name: require-labels", "name: second")
    second = repository(folder, {"policies/require.yaml": audit})
    url = f"{server.url}/team/policies.git"
    for source, policy, is_pinned in (
        (f"{url}//policies", "second", False),
        (f"{url}//policies?ref=main", "second", False),
        (f"git+{url}?ref={first}", "require-labels", True),
        (f"git::{url}//policies/require.yaml?ref={second}", "second", True),
    ):
        arguments = ("-p", source, "--allow-network", server.place)
        done = chartkit(tmp_path, "scan", "deployment.yaml", *arguments)
        assert done.code == 1, done.err
        assert f"{policy}/autogen-check-team" in done.out
        assert ("?ref=" + second + " pins" in done.err) is not is_pinned, done.err


def test_mistakes_in_fetched_files_are_named_by_their_url(server: Served, tmp_path: Path) -> None:
    server.files["/a/policies.tar.gz"] = _archive(
        {"p/policy.yaml": REQUIRE_LABELS.replace("rules:", "rulez:")}
    )
    server.files["/broken.yaml"] = b"a: [\n"
    allow = ("--allow-network", server.place)
    archive, broken = f"{server.url}/a/policies.tar.gz", f"{server.url}/broken.yaml"
    done = chartkit(tmp_path, "scan", "deployment.yaml", "-p", archive, *allow)
    assert done.code == 1
    assert f"{archive}//p/policy.yaml:7:3: error policy-schema" in done.err
    done = chartkit(tmp_path, "scan", broken, "-p", "policy.yaml", *allow)
    assert done.code == 2
    assert f"{broken}:" in done.err


SSH = """\
#!/bin/sh
for word; do echo "$word" >> "$0.words"; last="$word"; done
exec sh -c "cd '{root}' && $last"
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The words with which ssh is called, which runs what a server would run, with the folder of
    repositories as its home."""
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH.format(root=tmp_path / "home"))
    program.chmod(0o755)
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program.with_name("ssh.words")


@pytest.mark.parametrize("start", ["git@127.0.0.1:", "ssh://git@127.0.0.1{home}/", "git+ssh://"])
def test_a_repository_over_ssh(tmp_path: Path, ssh: Path, start: str) -> None:
    home = tmp_path / "home"
    first = repository(home / "team" / "policies.git", {"best/require.yaml": REQUIRE_LABELS})
    changed = REQUIRE_LABELS.replace("name: require-labels", "name: second")
    repository(home / "team" / "policies.git", {"best/require.yaml": changed})
    if start == "git+ssh://":
        start += "127.0.0.1:22{home}/"
    url = f"{start.format(home=home)}team/policies.git//best"
    for ref, policy in (
        ("", "second"),
        ("?ref=main", "second"),
        (f"?ref={first}", "require-label"),
    ):
        done = chartkit(
            tmp_path, "scan", "deployment.yaml", "-p", url + ref, "--allow-network", "127.0.0.1"
        )
        assert done.code == 1, done.err
        assert policy in done.out
        assert ("is not pinned" in done.err) is (first not in ref)
    words = ssh.read_text().splitlines()
    assert {"-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oHostName=127.0.0.1"} <= set(words)


@pytest.mark.slow
@pytest.mark.usefixtures("ssh")
def test_errors_of_repositories_over_ssh(tmp_path: Path) -> None:
    repository(tmp_path / "home" / "a.git", {"p.yaml": REQUIRE_LABELS})
    for source, hosts, said in (
        ("git@127.0.0.1:gone.git", "127.0.0.1", "ssh://127.0.0.1/gone.git: git cannot fetch it"),
        ("git@127.0.0.1:a.git?ref=gone", "127.0.0.1", "couldn't find remote ref gone"),
        ("git@127.0.0.1:a.git//gone", "127.0.0.1", "there is no file or folder 'gone' in it"),
        ("git@127.0.0.1:a.git", "127.0.0.1:2222", "--allow-network does not name it"),
        ("git@no-such-host.invalid:a.git", "no-such-host.invalid", "no-such-host.invalid"),
    ):
        arguments = ("-p", source, "--allow-network", hosts)
        done = chartkit(tmp_path, "scan", "deployment.yaml", *arguments)
        assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
        assert said in done.err


EXCEPTION = _TEXTS["exception"]


def test_exceptions_by_url(server: Served, tmp_path: Path) -> None:
    server.files["/exceptions.yaml"] = EXCEPTION.encode()
    server.files["/broken.yaml"] = EXCEPTION.replace("exceptions:", "exception:").encode()
    server.files["/none.yaml"] = DEPLOYMENT.encode()
    scan = ("scan", "deployment.yaml", "-p", "policy.yaml", "--allow-network", server.place)
    url = f"{server.url}/exceptions.yaml"
    done = chartkit(tmp_path, *scan, "--exceptions", url, "-o", "json")
    assert (done.code, json.loads(done.out)["summary"]["skip"]) == (0, 1)
    assert f"{url}: note remote: is not pinned" in done.err
    for name, said in (("broken.yaml", "broken.yaml:5:3"), ("none.yaml", "no PolicyException")):
        done = chartkit(tmp_path, *scan, "--exceptions", f"{server.url}/{name}")
        assert done.code == 2, done.err
        assert f"{server.url}/{name}" in done.err
        assert said in done.err
    done = chartkit(tmp_path, *scan[:-2], "--exceptions", url)
    assert (done.code, "--allow-network does not name it" in done.err) == (2, True)
    done = chartkit(tmp_path, "exceptions", "check", "--exceptions", url)
    assert (done.code, "files are checked" in done.err) == (2, True)


def test_values_by_url(server: Served, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 1.0.0\n")
    text = DEPLOYMENT.replace("app: nginx", "app: nginx, team: {{ .Values.team }}")
    assert "Values" in text
    (chart / "templates" / "a.yaml").write_text(text)
    server.files["/values.yaml"] = b"team: a\n"
    server.files["/twice.yaml"] = b"team: a\nteam: b\n"
    allow = ("--allow-network", server.place)
    scan = ("scan", "chart", "-p", "policy.yaml", *allow)
    assert chartkit(tmp_path, *scan).code == 1
    digest = hashlib.sha256(b"team: a\n").hexdigest()
    done = chartkit(tmp_path, *scan, "-f", f"{server.url}/values.yaml#sha256={digest}")
    assert (done.code, done.err) == (0, ""), done.out
    done = chartkit(tmp_path, *scan, "-f", f"{server.url}/twice.yaml")
    assert done.code == 2
    assert f"{server.url}/twice.yaml:2:1" in done.err
    done = chartkit(tmp_path, "scan", "deployment.yaml", "-f", f"{server.url}/values.yaml", *allow)
    assert (done.code, "no chart is scanned that takes it" in done.err) == (2, True)


@from_table("source", "said")
def test_urls_that_name_nothing_are_refused(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "pod.yaml").write_text(DEPLOYMENT)
    done = chartkit(tmp_path, "scan", "pod.yaml", "-p", source, "--allow-network", "example.com")
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.slow
def test_a_repository_that_is_none_and_a_ref_that_is_none(server: Served, tmp_path: Path) -> None:
    repository(server.root / "a.git", {"x.yaml": REQUIRE_LABELS})
    server.files["/b.git/info/refs"] = b"0000garbage"
    server.files["/c.git/info/refs"] = b"<html>"
    for source, said in (
        ("none.git", "the server answers 404"),
        ("a.git?ref=missing", "there is no branch or tag 'missing' in it"),
        ("a.git//missing", "there is no file or folder 'missing' in it"),
        (f"a.git?ref={'1' * 40}", "the server"),
        ("b.git", "the server does not answer as git does"),
        ("c.git", "the server does not answer as git does"),
    ):
        arguments = ("-p", f"{server.url}/{source}", "--allow-network", server.place)
        done = chartkit(tmp_path, "scan", "deployment.yaml", *arguments)
        assert done.code == 2, source
        assert said in done.err


_TEST = _TEXTS["test"]


def _tests(result: str) -> dict[str, str]:
    test = _TEST.replace("RESULT", result)
    files = {
        "policy.yaml": REQUIRE_LABELS,
        "deployment.yaml": DEPLOYMENT,
        "kyverno-test.yaml": test,
    }
    return {f"tests/labels/{name}": text for name, text in files.items()}


def test_tests_of_a_repository_are_run(server: Served, tmp_path: Path) -> None:
    commit = repository(server.root / "a.git", _tests("fail"))
    url = f"{server.url}/a.git//tests?ref={commit}"
    assert chartkit(tmp_path, "test", url).code == 2
    done = chartkit(tmp_path, "test", url, "--allow-network", server.place)
    assert (done.code, done.err) == (0, "")
    assert "1 test, 1 result: 1 passed" in done.out
    repository(server.root / "a.git", _tests("pass"))
    url = f"{server.url}/a.git"
    done = chartkit(tmp_path, "test", url, "--allow-network", server.place)
    assert done.code == 1
    assert f"{url}//tests/labels/kyverno-test.yaml" in done.out
    assert "note remote: is not pinned" in done.err


@pytest.mark.slow
def test_a_library_is_vendored_from_a_repository(server: Served, tmp_path: Path) -> None:
    files = {"best/require/require.yaml": REQUIRE_LABELS, "other/x.yaml": "a: 1\n"}
    commit = repository(server.root / "library.git", files)
    done = chartkit(tmp_path, "policies", "vendor", f"{server.url}/library.git", "--ref", "main")
    assert done.code == 0, done.err
    lock = json.loads((tmp_path / "vendor" / "library" / "chartkit.lock").read_text())
    assert lock["source"] == {
        "kind": "git",
        "location": f"{server.url}/library.git",
        "ref": "main",
        "revision": commit,
    }
    assert (tmp_path / "vendor" / "library" / "best" / "require" / "require.yaml").exists()


POLICY = _TEXTS["policy"]
POD = _TEXTS["pod"]
KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "eu-central-1",
}


class _Store:
    """A server of S3's protocol with a bucket."""

    def __init__(self, address: str) -> None:
        import s3fs

        self.environment = {**KEYS, "AWS_ENDPOINT_URL": address}
        keys = {"key": "key", "secret": "secret"}
        kwargs = {"region_name": "eu-central-1"}
        self.files: Any = s3fs.S3FileSystem(**keys, endpoint_url=address, client_kwargs=kwargs)
        self.files.mkdir("bucket")

    def scan(self, folder: Path, *arguments: str) -> Done:
        return chartkit(folder, "scan", *arguments, **self.environment)


@pytest.fixture(scope="module")
def store() -> Iterator[_Store]:
    """An object store on this machine."""
    moto = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield _Store(f"http://{host}:{port}")
    server.stop()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("count", [3, 1000], ids=["small", "in parts"])
def test_files_of_a_bucket_are_files(store: _Store, tmp_path: Path, count: int) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "dump").mkdir()
    text = "".join(POD % (number, "x" * 2000) for number in range(count))
    (tmp_path / "dump" / "pods.yaml").write_text(text)
    (tmp_path / "dump" / "notes.txt").write_text("no manifest")
    url = f"s3://bucket/{count}"
    store.files.put(str(tmp_path / "dump"), f"bucket/{count}", recursive=True)
    for path in ("dump", "dump/pods.yaml"):
        here = store.scan(tmp_path, path, "-p", "policy.yaml")
        there = store.scan(tmp_path, path.replace("dump", url), "-p", "policy.yaml")
        assert there.out == here.out.replace("dump/", f"{url}/")
        assert (there.code, there.err) == (here.code, here.err)
        assert here.code == 1


@pytest.mark.filterwarnings("default")
def test_reports_are_written_to_a_bucket(store: _Store, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "pods.yaml").write_text(POD % (1, "x"))
    options = ("pods.yaml", "-p", "policy.yaml", "-o", "text", "-o", "json=s3://bucket/r/x.json")
    done = store.scan(tmp_path, *options)
    assert done.code == 1
    assert json.loads(store.files.cat("bucket/r/x.json"))["summary"]["fail"] == 1
    assert "Pod/p1" in done.out or "Pod/default/p1" in done.out


@pytest.mark.filterwarnings("default")
def test_what_is_not_in_the_bucket_is_one_line(store: _Store, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    done = store.scan(tmp_path, "s3://bucket/nothing", "-p", "policy.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.line == "s3://bucket/nothing: no such file or folder"
    done = store.scan(tmp_path, "s3://no-bucket/x.yaml", "-p", "policy.yaml")
    assert done.code == 2
    assert done.line.startswith("s3://no-bucket/x.yaml: ")


def test_other_urls_are_no_destination(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "pods.yaml").write_text(POD % (1, "x"))
    options = ("-p", "policy.yaml", "-o", "json=https://example.com/x")
    done = chartkit(tmp_path, "scan", "pods.yaml", *options)
    assert done.code == 2
    assert "cannot write to https://example.com/x" in done.line
    with pytest.raises(Exception, match="cannot write to s3://bucket/x"):
        parse_all(["json=s3://bucket/x"])
