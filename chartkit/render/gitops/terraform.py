"""Terraform and OpenTofu: a `helm_release` for each chart, a folder for each environment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.project.project import Project
from chartkit.render.gitops.checks import HEADER, KEEP, Release, Repository, releases

_UP: Final = "${path.module}/../../.."
"""The project's folder from that of the files."""
_PROVIDERS: Final = """\
terraform {
  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = ">= 2.12"
    }
  }
}
"""


def files(project: Project, _repository: Repository) -> Mapping[str, str]:
    """Return the files by path: one for each environment or cluster."""
    return {
        f"{environment.file_name}/main.tf": "\n".join(
            [HEADER + _PROVIDERS, *map(_resource, releases(project, environment))]
        )
        for environment in project.environments.values()
    }


def _resource(release: Release) -> str:
    return "\n".join(_lines(release)) + "\n"


def _lines(release: Release) -> Iterator[str]:
    yield f'resource "helm_release" "{_name(release.name)}" {{'
    facts: dict[str, str | bool | int] = {
        "name": release.name,
        "namespace": release.namespace,
        "chart": f"{_UP}/{release.chart}",
        "create_namespace": True,
        "wait": True,
        "wait_for_jobs": True,
        "timeout": 600,
    }
    width = max(map(len, facts))
    for key, value in facts.items():
        yield f"  {key:<{width}} = {json.dumps(value)}"
    yield ""
    yield "  values = ["
    for name in release.values_files:
        yield f'    file("{_UP}/{release.chart}/{name}"),'
    if own := release.values(dict(KEEP)):
        yield "    <<-EOT"
        yield from (f"    {line}" for line in dump_yaml(own).splitlines())
        yield "    EOT"
    yield "  ]"
    if release.after:
        yield ""
        yield f"  depends_on = [helm_release.{_name(release.after)}]"
    yield "}"


def _name(release: str) -> str:
    return release.replace("-", "_")
