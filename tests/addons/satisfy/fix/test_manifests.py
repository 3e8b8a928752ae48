"""Edits of manifests: what the file's style is stays, and what cannot be edited is listed."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.addons.satisfy.fix.runs import fix, written


class Text(NamedTuple):
    before: str
    after: str


HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
FIXED = {
    "comments and indentation": Text(
        """\
# the shop
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
    hostNetwork: true   # why
    containers:
    -   name: x
        # ports
        ports: [{containerPort: 80}]
""",
        """\
# the shop
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
    hostNetwork: false   # why
    containers:
    -   name: x
        # ports
        ports: [{containerPort: 80}]
        securityContext:
          allowPrivilegeEscalation: false
""",
    ),
    "flow style": Text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: x}]}}\n",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: x,"
        " securityContext: {allowPrivilegeEscalation: false}}]}}\n",
    ),
    "several documents": Text(
        f"""\
---
# nothing
---  # first
{HEAD}spec: {{hostNetwork: true, containers: []}}
...
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c}}
---
{HEAD}spec:
  containers:
    - name: x

# end
""",
        f"""\
---
# nothing
---  # first
{HEAD}spec: {{hostNetwork: false, containers: []}}
...
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c}}
---
{HEAD}spec:
  containers:
    - name: x
      securityContext:
        allowPrivilegeEscalation: false

# end
""",
    ),
    "a List in JSON": Text(
        """\
{
  "apiVersion": "v1",
  "kind": "PodList",
  "items": [
    {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "x"}]}},
    {"metadata": {"name": "b"},
     "spec": {
       "containers": [
         {
           "name": "x"
         }
       ]
     }}
  ]
}
""",
        """\
{
  "apiVersion": "v1",
  "kind": "PodList",
  "items": [
    {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "x", \
"securityContext": {"allowPrivilegeEscalation": false}}]}},
    {"metadata": {"name": "b"},
     "spec": {
       "containers": [
         {
           "name": "x",
           "securityContext": {
             "allowPrivilegeEscalation": false
           }
         }
       ]
     }}
  ]
}
""",
    ),
    "lines that end as in Windows, a mark, no last line end": Text(
        "\ufeffapiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\nspec:\r\n"
        "  containers:\r\n  - name: x",
        "\ufeffapiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\nspec:\r\n"
        "  containers:\r\n  - name: x\r\n    securityContext:\r\n"
        "      allowPrivilegeEscalation: false",
    ),
    "an alias in two objects": Text(
        """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a}
  spec:
    containers:
    - &container
      name: x
- apiVersion: v1
  kind: Pod
  metadata: {name: b}
  spec:
    containers:
    - *container
""",
        """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a}
  spec:
    containers:
    - &container
      name: x
      securityContext:
        allowPrivilegeEscalation: false
- apiVersion: v1
  kind: Pod
  metadata: {name: b}
  spec:
    containers:
    - name: x
      securityContext:
        allowPrivilegeEscalation: false
""",
    ),
    "the template of a controller": Text(
        """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      initContainers: [{name: i, securityContext: {privileged: true}}]
      containers:
        # about x
        - name: x   # x

        # trailing
      volumes: []
""",
        """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      initContainers: [{name: i, securityContext: {privileged: false}}]
      containers:
        # about x
        - name: x   # x
          securityContext:
            allowPrivilegeEscalation: false

        # trailing
      volumes: []
""",
    ),
}
LISTED = {
    "a key twice": (
        f"{HEAD}spec:\n  hostNetwork: false\n  containers: []\n  hostNetwork: true\n",
        "a key twice",
        "pod.yaml:7:3",
    ),
    "an anchor that another object shares": (
        """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a}
  spec: &shared
    hostNetwork: true
    containers: []
- apiVersion: v1
  kind: Secret
  metadata: {name: b}
  data: *shared
""",
        "cannot be edited without a change to other lines",
        "pod.yaml:8:5",
    ),
    "a merge key": (
        f"{HEAD}spec:\n  containers: []\n  <<: {{hostNetwork: true}}\n",
        "cannot be edited without a change to other lines",
        "pod.yaml:6:8",
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_the_rest_of_a_file_stays_as_it_is(tmp_path: Path, name: str) -> None:
    objects = written(tmp_path, pod=FIXED[name].before)
    done = fix(objects)
    assert (objects / "pod.yaml").read_bytes().decode() == FIXED[name].after
    assert done.exit_code == 0
    assert not fix(objects, "--diff").stdout


@pytest.mark.parametrize("name", LISTED)
def test_what_cannot_be_edited_is_listed(tmp_path: Path, name: str) -> None:
    text, reason, place = LISTED[name]
    objects = written(tmp_path, pod=text)
    done = fix(objects)
    assert (objects / "pod.yaml").read_text() == text
    assert done.exit_code == 1
    [heading, why, where] = done.stdout.splitlines()[:3]
    assert heading == "not fixed:"
    assert why.startswith("  Pod/a pods/host: ")
    assert reason in why
    assert where.endswith(place)


def test_other_objects_of_a_file_are_fixed(tmp_path: Path) -> None:
    twice = f"{HEAD}spec: {{hostNetwork: true, hostNetwork: true, containers: []}}\n"
    once = f"{HEAD}spec: {{hostNetwork: true, containers: []}}\n"
    objects = written(tmp_path, pod=f"{twice}---\n{once}")
    done = fix(objects)
    after = once.replace("true", "false")
    assert (objects / "pod.yaml").read_text() == f"{twice}---\n{after}"
    assert f"fixed {objects}/pod.yaml: 1 violation of 1 object, 1 field\n" in done.stdout


def test_a_diff_writes_nothing(tmp_path: Path) -> None:
    text = f"{HEAD}spec: {{hostNetwork: true, containers: []}}\n"
    objects = written(tmp_path, pod=text)
    done = fix(objects, "--diff")
    file = objects / "pod.yaml"
    assert done.stdout == (
        f"--- {file}\n+++ {file}\n@@ -1,4 +1,4 @@\n apiVersion: v1\n kind: Pod\n"
        " metadata: {name: a}\n-spec: {hostNetwork: true, containers: []}\n"
        "+spec: {hostNetwork: false, containers: []}\n"
    )
    assert f"would fix {file}: 1 violation of 1 object, 1 field\n" in done.stderr
    assert file.read_text() == text
    assert done.exit_code == 0
