"""Recorded answers that the engine knowingly does not give: by file and case, each with its reason.

The list is strict: a case that agrees after all fails until it is taken off.
"""

from typing import Final

DEVIATIONS: Final[dict[str, dict[str, str]]] = {
    "cel": {
        "cost-0002": "GeneratingPolicy and DeletingPolicy have no cost limit in Kyverno; here a "
        "million units end it, so that no policy holds a run up"
    },
    "cel-policies": {
        **dict.fromkeys(
            ("vap-026", "vap-028", "vap-035", "vap-036"),
            "a binding narrows the policy's own match constraints in a cluster; the recorded "
            "program looks at the binding alone",
        ),
        **dict.fromkeys(
            (
                "dpol-010",
                "exception-032",
                "mpol-052",
                "nvpol-001",
                "nvpol-002",
                "nvpol-003",
                "nvpol-004",
            ),
            "a policy of a namespace speaks of what is in it, in a cluster; the recorded program "
            "does not keep it there",
        ),
        "cpol-014": "the namespace's labels are known, and a cluster has them in namespaceObject; "
        "the recorded program leaves them out",
        "cpol-017": "a ConfigMap is in a namespace, which the recorded program does not know; "
        "here the parameter itself is missing",
        "map-001": "a binding narrows the policy's own match constraints in a cluster; the "
        "recorded program looks at the binding alone",
        "gpol-015": "a cluster knows its own kinds and lists none where there is none; the "
        "recorded program does not know a kind of which it was given no object",
        **dict.fromkeys(
            ("map-002", "map-003"),
            "a cluster serves this version of MutatingAdmissionPolicy; the recorded program does "
            "not load it",
        ),
        **dict.fromkeys(
            ("map-005", "map-008"),
            "a mutation that fails makes a cluster refuse the object, and is an error here; the "
            "recorded program says nothing",
        ),
        "map-007": "mutations see the policy's variables, as in a cluster; the recorded program "
        "fails with `no such key` and says nothing",
        "vap-044": "a parameter without a namespace is looked for in the request's own, as in a "
        "cluster; the recorded program takes the first of that name",
        "vap-045": "a selector of parameters selects, as in a cluster; the recorded program does "
        "not know it",
    },
    "kyverno-cli": {
        **dict.fromkeys(
            (
                "test-validating-policy/envoy-allow",
                "test-validating-policy/envoy-deny",
                "test-validating-policy/envoy-jwt",
                "test-validating-policy/http-deny",
            ),
            "policies of evaluation mode HTTP or Envoy are for another program than Kyverno's "
            "controllers; each row says that they are not evaluated",
        )
    },
    "match": {
        "agv-018": "`images.containers.*.tag` walks a Go map: the recorded order of its values "
        "differs between two objects with the same containers; here they stand as in the object"
    },
    "policy-library": {
        "nginx-ingress/disallow-ingress-nginx-custom-snippets/.kyverno-test": "two annotations fit "
        "a wildcard; Kyverno walks a Go map and names either, here the first in the object"
    },
}
