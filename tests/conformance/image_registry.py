"""A registry on loopback that stands in for the public ones of recorded cases.

Its images are the tests' own, and so are the keys: what a recorded policy names as its signer is
exchanged for who signed here.
"""

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from chartkit.model import Body, Json
from tests.e2e.command import called
from tests.signing.authority import PrivateKey, key_pem, new_key
from tests.signing.cosign import Signer, push
from tests.unit.network.registry.registry_server import INDEX, Registry, serving

SIGNED = "kyverno/test-verify-image"
_CONFIG: Body = {
    "architecture": "amd64",
    "os": "linux",
    "config": {"User": "1000"},
    "rootfs": {"type": "layers", "diff_ids": []},
}
_SOURCES = base64.b64encode(json.dumps({"sources": [{"ref": "base"}]}).encode()).decode()


@dataclass(frozen=True, slots=True)
class StandIn:
    """digests: of the images that are signed and not (`signed`, `unsigned`); key: who signed."""

    registry: Registry
    digests: Mapping[str, str]
    key: PrivateKey = field(default_factory=new_key)

    @property
    def options(self) -> tuple[str, ...]:
        """What makes a command ask here for images of the public registries."""
        hosts = ("ghcr.io", "docker.io")
        mirrors = [("--registry-mirror", f"{host}={self.registry.host}") for host in hosts]
        return ("--registry", *(word for pair in mirrors for word in pair))


@contextlib.contextmanager
def standing_in() -> Iterator[StandIn]:
    """The images of all recorded cases, until the block ends."""
    with serving() as registry:
        names = ("signed", "unsigned")
        # Tags lead to images of their own, so that a signature of one is none of the other.
        images = {name: {**_CONFIG, "author": name} for name in names}
        digests = {name: registry.add_image(SIGNED, name, images[name]) for name in names}
        made = StandIn(registry, digests)
        layer = Signer(made.key).signature(digests["signed"])
        push(registry, SIGNED, digests["signed"], [layer])
        registry.add_image("library/solr", "latest", _CONFIG)
        registry.add_image("jimbugwadia/demo-java-tomcat", "v0.0.15", _CONFIG)
        _add_index(registry, "library/solr", "6", [_CONFIG])
        built = {**_CONFIG, "moby.buildkit.buildinfo.v1": _SOURCES}
        _add_index(
            registry, "kyverno/kyverno", "v1.7.3", [built, {**built, "architecture": "arm64"}]
        )
        yield made


def _add_index(registry: Registry, repository: str, tag: str, configs: list[Body]) -> None:
    listed = []
    for config in configs:
        described = registry.descriptor(repository, registry.add_image(repository, "", config))
        platform = {"os": "linux", "architecture": config["architecture"]}
        listed.append({**described, "platform": platform})
    registry.add(
        repository, tag, INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": listed}
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A recorded case: what is wanted of each rule and object, by policy, rule and resource; rule
    is empty where the case names none."""

    folder: Path
    policies: tuple[Path, ...]
    resources: tuple[Path, ...]
    wanted: Mapping[tuple[str, str, str], str]


def read_case(folder: Path) -> Case:
    """Reads a `kyverno-test.yaml`."""
    body = yaml.safe_load((folder / "kyverno-test.yaml").read_text("utf-8"))
    wanted = {
        (row["policy"], row.get("rule", ""), name): row["result"]
        for row in body["results"]
        for name in row["resources"]
    }
    return Case(
        folder,
        tuple(folder / name for name in body["policies"]),
        tuple(folder / name for name in body["resources"]),
        wanted,
    )


def said_of(
    case: Case, exchanged: Mapping[str, str], options: tuple[str, ...], scratch: Path
) -> dict[tuple[str, str, str], set[str]]:
    """What `chartkit scan` says, by policy, rule and resource: the results of all passes.
    exchanged: texts that stand for others in the policies, by how those begin; scratch: where the
    changed policies are put."""
    words = ["scan", "-o", "json"]
    for index, policy in enumerate(case.policies):
        changed = scratch / f"{index}.yaml"
        documents = yaml.safe_load_all(policy.read_text("utf-8"))
        changed.write_text(yaml.safe_dump_all([_exchange(one, exchanged) for one in documents]))
        words += ["-p", str(changed)]
    text = run_command([*words, *map(str, case.resources), *options])
    said: dict[tuple[str, str, str], set[str]] = {}
    for one in json.loads(text)["results"]:
        name = one["resource"].rpartition("/")[2]
        for rule in {one["rule"], ""}:
            said.setdefault((one["policy"], rule, name), set()).add(one["result"])
    return said


def run_command(words: list[str]) -> str:
    """Runs the command in this process; what it wrote."""
    done = called(Path(), *words)
    assert done.code in (0, 1), done.err
    return done.out


def local_key(stand_in: StandIn) -> Mapping[str, str]:
    """The public key that signed here, for those of recorded policies."""
    return {"-----BEGIN PUBLIC KEY-----": key_pem(stand_in.key)}


def _exchange(value: Json, exchanged: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _exchange(member, exchanged) for key, member in value.items()}
    if isinstance(value, list):
        return [_exchange(member, exchanged) for member in value]
    if isinstance(value, str):
        found = (text for start, text in exchanged.items() if value.startswith(start))
        return next(found, value)
    return value
