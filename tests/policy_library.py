"""The built-in policies as Helm renders them, without the chart around them."""

import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from chartkit.bundled import library_dir
from chartkit.documents.reader import read_file, read_text, resources
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.helm.backend import helm
from chartkit.helm.model import Target
from chartkit.library.parameters import helm_body
from chartkit.library.policies import FolderPolicy, Library, read_library
from chartkit.model import Body, Json, Resource, RuleResult
from chartkit.scan.verdicts import example_world

_CHART = "apiVersion: v2\nname: library\nversion: 0.0.0\n"
_TARGET = Target("library", "default")


@cache
def library() -> Library:
    """The built-in library."""
    return read_library([library_dir()])


def render(policies: list[FolderPolicy], parameters: Mapping[str, Json]) -> Mapping[str, Body]:
    """Policies by name, at these parameter values and defaults for the others. A policy that has
    nothing to say at these values is missing."""
    values = {
        policy.name: policy.defaults | {k: v for k, v in parameters.items() if k in policy.defaults}
        for policy in policies
    }
    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder)
        (chart / "templates").mkdir()
        (chart / "Chart.yaml").write_text(_CHART)
        for policy in policies:
            (chart / "templates" / f"{policy.name}.yaml").write_text(_template(policy))
        rendered = helm().render(chart, {"parameters": values}, _TARGET).files
    found: dict[str, Body] = {}
    for file, text in rendered.items():
        for document in read_text(text, file):
            if document.body:
                found[Path(file).stem] = document.body
    return MappingProxyType(found)


def _template(policy: FolderPolicy) -> str:
    name = f"policy.{policy.name}"
    return (
        f'{{{{- define "{name}" }}}}\n{helm_body(policy)}\n{{{{- end }}}}\n'
        f'{{{{- $parameters := dict "parameters" (index .Values.parameters "{policy.name}") }}}}\n'
        f'{{{{- with fromYaml (include "{name}" $parameters) }}}}\n'
        "{{ toYaml . }}\n{{- end }}\n"
    )


def verdicts(
    policy: Body, found: Iterable[Resource], operation: Operation = Operation.CREATE
) -> dict[str, list[RuleResult]]:
    """What a policy's rules say of each resource, by `Kind/name`; raises CompileError."""
    compiled = compile_policy(Resource(policy))
    return {
        f"{resource.kind}/{resource.name}": evaluate(
            [compiled],
            Request(in_namespace(resource), operation=operation),
            example_world(resource),
        )
        for resource in found
    }


def read(file: Path | None) -> list[Resource]:
    """The resources of an example file; none where there is no file."""
    return resources(read_file(file)) if file else []
