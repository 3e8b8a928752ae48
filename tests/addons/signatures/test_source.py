"""Who is asked for signatures, by the command as well, and what is needed for that."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.addons.signatures.source import Signatures
from chartkit.cli.main import main
from chartkit.engine.ports.world import NOBODY_ELSE
from chartkit.errors import InputError, LookupFailed
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Settings
from tests.addons.signatures.cosign_bench import IDENTITY, ISSUER, Bench
from tests.conformance.image_registry import run_command
from tests.signing.bundle import Instance


def test_the_source_itself_imports_no_library() -> None:
    code = (
        "import sys, chartkit.addons.signatures.source\n"
        "heavy = {'cryptography', 'sigstore', 'jwt', 'cbor2', 'rfc3161_client'}\n"
        "sys.exit(str(sorted(heavy & sys.modules.keys())) if heavy & sys.modules.keys() else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("kind", ["Cosign", "SigstoreBundle", "Notary"])
def test_without_the_libraries_it_says_how_to_get_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name in list(sys.modules):
        if (
            name.startswith("chartkit.addons.signatures.")
            and name != "chartkit.addons.signatures.source"
        ):
            monkeypatch.delitem(sys.modules, name)
    for name in ("cosign", "bundles", "notary"):
        monkeypatch.delattr(f"chartkit.addons.signatures.{name}", raising=False)
    for name in ("cryptography", "cryptography.hazmat.primitives", "sigstore", "cbor2", "jwt"):
        monkeypatch.setitem(sys.modules, name, None)
    source = bench.source
    question = bench.by_key("example.com/app", kind=kind)
    asked: list[Any] = [
        lambda: source.signature(question),
        lambda: source.attestations(question),
        lambda: source.signed("example.com/app", {"cosign": {}}, NOBODY_ELSE),
        lambda: source.signed("example.com/app", {"notary": {}}, NOBODY_ELSE),
        lambda: source.attested("example.com/app", {}, {"cosign": {}}, NOBODY_ELSE),
        lambda: source.attested("example.com/app", {}, {"notary": {}}, NOBODY_ELSE),
        lambda: source.payload("example.com/app", {}, NOBODY_ELSE),
    ]
    for ask in asked:
        with pytest.raises(LookupFailed, match=r"not installed: pip install '.*\[signatures\]'"):
            ask()


def test_a_module_that_is_missing_elsewhere_is_a_defect(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "chartkit.addons.signatures.notary", None)
    monkeypatch.delattr("chartkit.addons.signatures.notary", raising=False)
    question = bench.by_key("example.com/app", kind="Notary")
    with pytest.raises(ModuleNotFoundError):
        bench.source.signature(question)


def test_trusted_roots_of_the_user(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "trusted_root.json"
    path.write_text(Instance((bench.between,), (bench.log,), (bench.certificates,)).root)
    image = bench.signed(bench.keyless.signature)
    question = bench.by_identity(image, roots="", rekor_key="", ctlog_key="")
    assert Signatures(Registries(Settings()), path).signature(question).digest
    for content, message in (
        (b"{}", "unsupported TrustedRoot media type: "),
        (b"\xff", "the trusted root cannot be read: it is not text"),
        (None, "the trusted root cannot be read: No such file or directory"),
    ):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError) as raised:
            Signatures(Registries(Settings()), path)
        assert raised.value.message == message
        assert raised.value.location is not None
        assert raised.value.location.file == str(path)


def test_the_command_verifies_with_a_trusted_root(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "trusted_root.json"
    path.write_text(Instance((bench.between,), (bench.log,), (bench.certificates,)).root)
    rekor = {"url": "https://rekor.example"}
    keyless = {"subject": IDENTITY, "issuer": ISSUER, "rekor": rekor}
    policy = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "background": False,
            "webhookTimeoutSeconds": 30,
            "rules": [
                {
                    "name": "r",
                    "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                    "verifyImages": [
                        {
                            "imageReferences": ["*"],
                            "mutateDigest": False,
                            "verifyDigest": False,
                            "required": False,
                            "attestors": [{"entries": [{"keyless": keyless}]}],
                        }
                    ],
                }
            ],
        },
    }
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    image = bench.signed(bench.keyless.signature)
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": image}]}}
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", **pod}))
    words = ["scan", "-p", str(tmp_path / "policy.yaml"), str(tmp_path / "pod.yaml")]
    own = ["--trusted-root", str(path)]
    assert _results(*words, "--registry", *own)[0] == "pass"
    status, message = _results(*words, "--registry")
    assert status == "fail"
    assert "no matching signatures: error verifying bundle: verifying bundle: rekor log" in message
    with pytest.raises(SystemExit) as ended:
        main([*words, *own])
    assert ended.value.code == 2


def _results(*words: str) -> tuple[str, str]:
    found = json.loads(run_command([*words, "--detailed", "-o", "json"]))["results"]
    return found[0]["result"], found[0]["message"]
