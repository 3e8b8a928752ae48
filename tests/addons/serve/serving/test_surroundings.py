"""What an admission server is given to judge with."""

from chartkit.addons.serve.serving import served
from chartkit.documents.reader import read_text, resources
from chartkit.engine import OFFLINE, read_configuration
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.policies import compile_all
from chartkit.scan.requests import Requests
from chartkit.scan.user_inputs import UserInputs
from tests.data import from_table

DATA = {
    "resourceFilters": "[ReplicaSet,*,*] [Pod/binding,*,*] [*/*,kube-system,*]",
    "webhooks": '{"namespaceSelector": {"matchLabels": {"team": "a"}}}',
}
WORKLOAD = """\
apiVersion: {api}
kind: {kind}
metadata: {{name: web, namespace: {namespace}}}
spec: {{template: {{spec: {{containers: [{{name: web, image: web}}]}}}}}}
"""


@from_table("kind", "subresource", "namespace", "is_filtered")
def test_requests_that_kyverno_is_not_asked_about(
    kind: str, subresource: str, namespace: str, is_filtered: bool
) -> None:
    labels = {"shop": {"team": "a"}, "kube-system": {"team": "a"}, "other": {}}
    namespaces = {name: {"metadata": {"labels": labels[name]}} for name in labels}
    requests = Requests(compile_all(()), (), namespaces, UserInputs())
    environment = ProjectEnvironment("prd", (), read_configuration(DATA), "1.35")
    filtered = served(requests, lambda: OFFLINE, environment).filtered
    api = "v1" if kind == "Pod" else "apps/v1"
    text = WORKLOAD.format(api=api, kind=kind, namespace=namespace)
    (resource,) = resources(read_text(text, "web.yaml"))
    assert filtered is not None
    assert filtered(resource, subresource) is is_filtered
