"""Makes an engine answer once, so that what it imports and reads is in the page's memory image."""

from __future__ import annotations

import gc
import json
from typing import Final

from chartkit.addons.playground import session

_POLICIES: Final = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: warm}
spec:
  rules:
    - name: pattern
      match: {any: [{resources: {kinds: [Pod]}}]}
      context: [{name: team, variable: {jmespath: request.object.metadata.labels.team}}]
      preconditions: {all: [{key: "{{ request.operation }}", operator: Equals, value: CREATE}]}
      validate:
        message: "{{ request.object.metadata.name }} {{ team }}"
        pattern: {spec: {containers: [{image: "!*:latest"}]}}
    - name: deny
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        deny: {conditions: {any: [{key: "{{ length(request.object.spec.containers) }}",
          operator: GreaterThan, value: 3}]}}
    - name: security
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {podSecurity: {level: restricted, version: latest}}
    - name: mutate
      match: {any: [{resources: {kinds: [Pod]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {+(x): "y"}}}}
    - name: generate
      match: {any: [{resources: {kinds: [Namespace]}}]}
      generate: {apiVersion: v1, kind: ConfigMap, name: a, namespace: b, data: {data: {a: b}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: warm}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  variables: [{name: images, expression: "object.spec.containers.map(c, c.image)"}]
  validations:
    - expression: variables.images.all(i, !i.matches('^.*:latest$'))
      messageExpression: "'bad: ' + variables.images[0]"
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: warm}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: "Object{metadata: Object.metadata{labels: Object.metadata.labels{a: 'b'}}}"
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: refused}
spec: {rules: [{nam: a}]}
"""
_OBJECTS: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - {name: a, image: "nginx:latest"}
---
{apiVersion: v1, kind: Namespace, metadata: {name: b}}
"""


def run() -> None:
    """Ask each call once."""
    calls = {
        "evaluate": {"policies": _POLICIES, "objects": _OBJECTS},
        # A proof takes memory, of which an image has the most that there was.
        "migrate": {"policy": ""},
        "expression": {"language": "jmespath", "expression": "length(@) | @", "data": "[1]"},
    }
    for call, given in calls.items():
        answer = json.loads(session.answer(call, json.dumps(given)))
        if "error" in answer:
            raise RuntimeError(answer["error"])
    gc.collect()
