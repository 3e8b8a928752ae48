"""Which rule came nearest where no policy matched any object, and what kept it off."""

from typing import Any

from chartkit.documents.reader import read_text, resources
from chartkit.engine import compile_any
from chartkit.scan.run import ScanContext
from chartkit.scan.why.asking import nearest_miss
from tests.data import from_table

CHECK = "      validate: {message: m, pattern: {metadata: {name: a}}}\n"
OBJECTS = """\
apiVersion: v1
kind: Service
metadata: {name: front, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
"""


def policy(*matches: str) -> str:
    head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n"
    rules = [
        f"    - name: r{at}\n      match: {{any: [{{resources: {{{match}}}}}]}}\n{CHECK}"
        for at, match in enumerate(matches)
    ]
    return head + "".join(rules)


@from_table("matches", "said")
def test_the_rule_that_came_nearest(matches: list[str], said: str) -> None:
    (resource,) = resources(read_text(policy(*matches), "p.yaml"))
    compiled: Any = compile_any(resource)
    objects = resources(read_text(OBJECTS, "o.yaml"))
    assert nearest_miss([compiled], ScanContext(), objects) == said


def test_no_policy_and_no_object() -> None:
    assert nearest_miss([], ScanContext(), []) == ""
