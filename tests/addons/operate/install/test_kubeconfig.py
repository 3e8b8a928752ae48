"""network.cluster.kubeconfig: what kubectl would not have written is refused, and never shown."""

from pathlib import Path
from typing import Any

import pytest

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.network.cluster.client import check_kubeconfigs, connect, is_sendable
from tests.errors import error_of

WRONG: list[Any] = [1, 1.5, True, ["hush"], {"hush": "hush"}, "hush\nhush\x00", "hush\x1b"]


def config(**user: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": user}],
    }


def refused(text: str, folder: Path) -> str:
    (folder / "kube").write_text(text)
    error = error_of(InputError, check_kubeconfigs, [folder / "kube"])
    assert "hush" not in str(error)
    return str(error)


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("key", ["token", "username", "password", "client-key-data"])
def test_credentials_that_are_no_text(key: str, value: Any, tmp_path: Path) -> None:
    assert f"users.0.user.{key} must be a text" in refused(
        dump_yaml(config(**{key: value})), tmp_path
    )


@pytest.mark.parametrize(
    "value", ["x", 1, ["x"], [1], [{"name": ["x"]}], [{"name": "u", "user": "x"}]]
)
@pytest.mark.parametrize("key", ["users", "clusters", "contexts"])
def test_parts_of_another_type(key: str, value: Any, tmp_path: Path) -> None:
    if isinstance(value, list) and isinstance(value[0], dict) and "user" in value[0]:
        value = [{"name": "u", key[:-1]: "x"}]
    assert "kube:" in refused(dump_yaml({**config(), key: value}), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "a: 1\n---\nb: 2",
        "a: " + "[" * 100_000,
        '{"a": ' + "[" * 100_000,
        "token: hush\na: *hush",
        "hush: [",
        "users: [{name: u, user: {token: .nan}}]",
    ],
)
def test_what_is_no_kubeconfig(text: str, tmp_path: Path) -> None:
    assert "kube" in refused(text, tmp_path)


def test_a_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "kube").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="NUL"):
        check_kubeconfigs([tmp_path / "kube"])


@pytest.mark.parametrize("key", ["token", "password"])
def test_what_no_header_can_carry(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kubernetes")
    (tmp_path / "kube").write_text(dump_yaml(config(**{"username": "u", key: "hush→"})))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kube"))
    assert "hush" not in str(error_of(InputError, connect, None))


def test_kubeconfig_headers() -> None:
    assert is_sendable("Bearer ä")
    assert not any(map(is_sendable, ["a\nb", "→", 1, None, ["a"], "\x00"]))
