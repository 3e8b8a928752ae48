"""Recorded answers that the engine knowingly does not give: by file and case, each with its reason.

The list is strict: a case that agrees after all fails until it is taken off.
"""

from __future__ import annotations

from typing import Final

DEVIATIONS: Final[dict[str, dict[str, str]]] = {
    "jmespath": {
        "jp-parse-yaml-035": "a list as a mapping's key is refused with a text of our own; Kyverno "
        "prints the key as Go source",
    },
    "kyverno-cli": {
        "test/manifests/verify-signature": "two Services have valid signatures; manifests are not "
        "verified yet, and the rule says so",
    },
    "match": {
        "agv-018": "`images.containers.*.tag` walks a Go map: the recorded order of its values "
        "differs between two objects with the same containers; here they stand as in the object",
    },
    "policy-library": {
        "nginx-ingress/disallow-ingress-nginx-custom-snippets/.kyverno-test": "two annotations fit "
        "a wildcard; Kyverno walks a Go map and names either, here the first in the object",
    },
}
