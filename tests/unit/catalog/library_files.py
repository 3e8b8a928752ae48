"""Writes small libraries for tests: policies as Kyverno reads them, with Kyverno's own tests."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from chartkit.network.downloads.lockfile import (
    LOCK_FILE,
    Lock,
    Origin,
    SourceKind,
    digest,
    digest_of_all,
    lock_text,
)

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
  annotations:
    policies.kyverno.io/title: {title}
    policies.kyverno.io/category: {category}
    policies.kyverno.io/severity: medium
    policies.kyverno.io/subject: Pod, Deployment
    policies.kyverno.io/minversion: 1.6.0
    policies.kyverno.io/description: >-
      Says what {name}
      asks for.
spec:
  rules:
    - name: check
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: no
        pattern:
          metadata:
            name: good*
"""
CEL_POLICY = """\
apiVersion: policies.kyverno.io/v1beta1
kind: {kind}
metadata:
  name: {name}
spec:
  matchConstraints:
    resourceRules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [pods]
"""
TEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {{name: {name}}}
policies: [../{file}]
resources: [resource.yaml]
results:
  - {{policy: {name}, rule: check, kind: Pod, resources: [bad], result: fail}}
  - {{policy: {name}, rule: check, kind: Pod, resources: [good], result: pass}}
"""
PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: good}
---
apiVersion: v1
kind: Pod
metadata: {name: bad}
"""


def write_plain(root: Path, reference: str, text: str = "", **given: str) -> Path:
    """One policy with a test; gives its file."""
    folder = root / reference
    name = given.get("name", folder.name)
    about = {"title": name.title(), "category": "Tests", **given, "name": name}
    file = folder / f"{folder.name}.yaml"
    tests = folder / ".kyverno-test"
    tests.mkdir(parents=True)
    file.write_text((text or POLICY).format(**about))
    (tests / "kyverno-test.yaml").write_text(TEST.format(name=name, file=file.name))
    (tests / "resource.yaml").write_text(PODS)
    return file


def write_lock(root: Path) -> None:
    """Locks a folder as it stands."""
    files = {
        path.relative_to(root).as_posix(): digest(path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }
    origin = Origin(SourceKind.FOLDER, "elsewhere", "", digest_of_all(files))
    (root / LOCK_FILE).write_text(lock_text(Lock(origin, files)))


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Files by path; gives the folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def git(folder: Path, *arguments: str) -> str:
    """What git says."""
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.test", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write_checkout(folder: Path, files: Mapping[str, bytes]) -> str:
    """A git checkout with one commit; gives the commit."""
    write_files(folder, files)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    return git(folder, "rev-parse", "HEAD")
