"""`chartkit check-compat`: check whether Kyverno supports a version of Kubernetes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from chartkit.cli.options import matrix_option
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.errors import InputError
from chartkit.kyverno.releases import facts, read_matrix, today
from chartkit.kyverno.versions import parse_release, parse_version
from chartkit.model import Location
from chartkit.project.project import FILE_NAME, read_project
from chartkit.render import compatibility


@click.command("check-compat")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--kyverno", metavar="VERSION", help="A Kyverno version, such as 1.18.")
@click.option("--kubernetes", metavar="VERSION", help="A cluster's version, such as v1.34.1-eks-1.")
@matrix_option
@reports()
def check_compat(
    options: OutputOptions,
    path: Path | None,
    kyverno: str | None,
    kubernetes: str | None,
    matrix: Path | None,
) -> None:
    """Check whether Kyverno supports the clusters of a project or chart at PATH, or one pair.

    PATH is a folder with chartkit.yaml (the current one if not given), a project file, or the
    folder of a chart. Exits 1 if a pair is not supported, 2 if a version is not known.
    """
    from chartkit.cli.explain import known_explanations

    options.parsed()
    day, data = today(), read_matrix(matrix)
    cluster = parse_version(kubernetes, "Kubernetes") if kubernetes is not None else None
    if kyverno is not None:
        if path is not None:
            raise InputError("--kyverno and a path cannot both be given")
        version = parse_version(kyverno, "Kyverno")
        name, release = f"Kyverno {version}", parse_release(kyverno)
        subjects: list[compatibility.VersionCheck] = [
            compatibility.pair(name, version, cluster, day, None, release, data)
        ]
    elif path is not None and (path / "Chart.yaml").exists():
        subjects = [compatibility.chart(path, cluster, day, data)]
    elif cluster is not None:
        if path is not None:
            raise InputError("--kubernetes needs --kyverno or a chart folder")
        subjects = [compatibility.cluster(cluster, data)]
    else:
        project_path = path or Path()
        if not (project_path.is_file() or (project_path / FILE_NAME).exists()):
            hint = f"give --kyverno and --kubernetes, a chart folder, or a folder with {FILE_NAME}"
            location = None if path is None else Location(str(path))
            raise InputError("there is no version to check", location, hint)
        subjects = [
            compatibility.environment(replace(env, versions=read_matrix(matrix, env.versions)), day)
            for env in read_project(project_path).environments.values()
        ]
    show(compatibility.report(subjects, known_explanations(), facts(), today()), options)
    raise SystemExit(0 if all(check.supported for check in subjects) else 1)
