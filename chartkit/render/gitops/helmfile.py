"""Helmfile: a file for each environment, with both releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body
from chartkit.project.project import Project
from chartkit.render.gitops.checks import HEADER, KEEP, Release, Repository, releases

_UP: Final = "../.."
"""The project's folder from that of the files."""


def files(project: Project, _repository: Repository) -> Mapping[str, str]:
    """Return the files by name: one for each environment or cluster."""
    return {
        f"{environment.file_name}.yaml": HEADER
        + dump_yaml(
            {
                "helmDefaults": {
                    "kubeContext": environment.file_name,
                    "createNamespace": True,
                    "wait": True,
                    "waitForJobs": True,
                    "timeout": 600,
                },
                "releases": [_release(each) for each in releases(project, environment)],
            }
        )
        for environment in project.environments.values()
    }


def _release(release: Release) -> Body:
    folder = f"{_UP}/{release.chart}"
    values: list[str | Body] = [f"{folder}/{name}" for name in release.values_files]
    if own := release.values(dict(KEEP)):
        values.append(own)
    body: Body = {
        "name": release.name,
        "namespace": release.namespace,
        "chart": folder,
        "values": values,
    }
    if release.after:
        body |= {
            "needs": [f"{release.namespace}/{release.after}"],
            "disableValidationOnInstall": True,
        }
    return body
