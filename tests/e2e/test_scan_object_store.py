"""`chartkit scan s3://…`: files of an object store are files, and reports are written there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chartkit.report.outputs import parse_all
from tests.e2e.command import Done, chartkit

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: a team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
"""
POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: p%s, annotations: {padding: %s}}
spec: {containers: [{name: c, image: nginx}]}
"""
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
