"""The stages of `chartkit render`, from a project to charts that are checked and then written.

Read the project, plan its charts, compose them with hand edits, lay them out, render them with
Helm, check them, compare them with the disk, publish them. Charts go through the stages up to Helm
one by one: Helm works on one while the next is planned.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.engine import monitoring
from chartkit.charts.engine.values import own_values
from chartkit.charts.plan import ALLOWED, ENGINE, POLICIES, REPORTER, ChartPlan
from chartkit.charts.policies import chart as policies_chart
from chartkit.charts.policies.installed import InstalledPolicy
from chartkit.charts.upstream import vendored
from chartkit.charts.upstream.vendored import Vendored, read_vendored
from chartkit.documents.unread import UNREAD
from chartkit.errors import InputError
from chartkit.helm.chart_values import merge
from chartkit.helm.kept import templates_of
from chartkit.kyverno import matrix, releases
from chartkit.model import Body, Location, Track, untracked
from chartkit.output import atomic_folder, write
from chartkit.output.values_merge import Prefer
from chartkit.output.write import RECORD, Tree
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.project.settings import Workload
from chartkit.render.access_reviews import webhook_timeouts
from chartkit.render.cache import cached_rows
from chartkit.render.chart import (
    ALL,
    Chart,
    ChartFiles,
    CheckTarget,
    helm_threads,
    start_chart,
    subject,
)
from chartkit.render.checks.run import check_environment, merge_environments, vendored_rows
from chartkit.render.exceptions import (
    NO_EXCEPTIONS,
    ShippedExceptions,
    engine_features,
    shipped_exceptions,
)
from chartkit.render.gitops import checks as gitops_checks
from chartkit.render.gitops import deployers
from chartkit.render.gitops.checks import NO_REPOSITORY, Repository
from chartkit.render.manifests import (
    drift,
    drift_rows,
    is_repeatable,
    manifests,
    overlay_trees,
    uncompared,
)
from chartkit.render.model import Outcome, RenderResult, Row, failed, written_folders
from chartkit.temporary import temporary_folder

_PARTS: Final = ("templates", "charts")
_INCLUDED: Final = re.compile(r'include\s+"[^"]*"\s+[.$](?![\w.])')
"""A template that is called with all that there is: those of chartkit are."""
_WHOLE: Final = re.compile(r"(?<![\w.$)}])[.$](?![\w.])|Files")


def lay_out(
    tree: Tree, parent: Path, environments: Iterable[Environment], is_upstream: bool
) -> ChartFiles:
    """Lay out a chart in a folder of its own below another one. The values of environments are
    given to Helm next to it."""
    whole = ChartFiles(tree, tree.folder, is_upstream)
    names = {name for env in environments for name in env.values_files if name in tree.files}
    unread = {*names, *(f"{RECORD}/{name}" for name in names)}
    if is_upstream or _may_read_any_file(whole, names):
        unread.clear()
    files = {name: text for name, text in tree.files.items() if name not in unread}
    folder = write.lay_out(replace(tree, files=files, removed=tree.removed | unread), parent)
    return replace(whole, folder=folder)


def _may_read_any_file(chart: ChartFiles, values: Collection[str]) -> bool:
    """Report whether templates may read files that those of chartkit do not: they are of others, or
    come with values that ask for files or for all that there is."""
    tree = chart.tree
    there = (path for part in _PARTS for path in (tree.folder / part).rglob("*"))
    names = (file.relative_to(tree.folder).as_posix() for file in there if not file.is_dir())
    if any(name not in tree.files and name not in tree.removed for name in names):
        return True
    documents = map(chart.document, ("values.yaml", *values))
    return any(asks_for_all(text) for document in documents for text in templates_of(document.body))


def asks_for_all(text: str) -> bool:
    """Report whether a template may ask for files, or for all that there is."""
    return _WHOLE.search(_INCLUDED.sub("", text)) is not None


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """environments: those to check and to write manifests of; workloads: further ones to scan;
    kustomize: whether to write overlays as well; gitops: the deployers whose files are written,
    repository: the one that holds the charts; update_baseline: whether to write the baselines
    of environments that name one; jobs: the most processes of Helm at a time, None: by the
    processors; uses_cache: whether Helm's answers of earlier runs will do; track: shows how many
    environments are checked."""

    environments: tuple[Environment, ...]
    workloads: tuple[Workload, ...] = ()
    prefer: Prefer = Prefer.NEITHER
    check: bool = False
    kustomize: bool = False
    gitops: tuple[str, ...] = ()
    repository: Repository = NO_REPOSITORY
    update_baseline: bool = False
    jobs: int | None = None
    uses_cache: bool = True
    track: Track = untracked


@dataclass(frozen=True, slots=True)
class _ChartTree:
    """A chart's plan and its files, with hand edits merged in."""

    plan: ChartPlan
    tree: Tree


@dataclass(frozen=True, slots=True)
class _GeneratedFolders:
    """Folders as they will be written: charts with overlays, and manifests; is_repeatable: whether
    no chart or policy asks for the time or for chance, which only a kept result needs to know."""

    charts: Sequence[Tree]
    manifests: Sequence[Tree] = ()
    is_repeatable: bool = False


def render_project(project: Project, options: RenderOptions) -> RenderResult:
    """Plan, merge, check and write the charts; write nothing if a check fails. Raise ConflictError
    where a hand edit cannot be merged, RenderError where a chart does not render, InputError where
    something that the project names cannot be used or another render runs."""
    folders = written_folders(project)
    for folder in folders:
        atomic_folder.require_inside(folder, project.root)
    if options.check:
        rows, generated = _generate(project, options)
        differences, drifted = drift(generated.manifests)
        drifted += [row for tree in generated.charts for row in drift_rows(tree)]
        differences = "".join(map(write.drift, generated.charts)) + differences
        rows = (*rows, *drifted, *_left(folders, project.root))
        return RenderResult(rows, differences, is_repeatable=generated.is_repeatable)
    with atomic_folder.lock(project.root):
        for folder in folders:
            atomic_folder.repair_all(folder)
        rows, generated = _generate(project, options)
        if failed(rows):
            return RenderResult(rows)
        trees = (*generated.charts, *generated.manifests)
        written = _publish(trees, project.root)
        return RenderResult(rows, written=written, is_repeatable=generated.is_repeatable)


def _generate(
    project: Project, options: RenderOptions
) -> tuple[tuple[Row, ...], _GeneratedFolders]:
    """Run every stage up to the disk; without `check`, a failed check generates nothing."""
    upstream = read_vendored(project.root)
    folder = project.manifests
    # Those that a check would compare with nothing are not made.
    writes_manifests = folder is not None and not (options.check and not folder.exists())
    with temporary_folder() as parent, helm_threads(options.jobs, options.uses_cache) as executor:
        composed, charts = list[_ChartTree](), list[Chart]()
        exceptions: dict[str, ShippedExceptions] = {}
        for plan in plan_charts(project, upstream, exceptions):
            composed.append(_compose(project, plan, options.prefer))
            is_upstream = plan.name in upstream
            files = lay_out(composed[-1].tree, parent, project.environments.values(), is_upstream)
            charts += [
                start_chart(files, env, executor, writes_manifests)
                for env in options.environments
                if files.name != ENGINE or env.engine
            ]
        others = [
            _compose(project, plan, options.prefer) for plan in plan_values_alone(project, upstream)
        ]
        plans = [chart_tree.plan for chart_tree in composed]
        resolved = _policies(plans).resolved
        subjects = [
            subject(
                project,
                env,
                charts,
                options.workloads,
                resolved.get(env.name),
                exceptions.get(env.name, NO_EXCEPTIONS),
            )
            for env in options.environments
        ]
        rows = (
            *vendored_rows(project, upstream, options.environments),
            *_check(subjects, plans, options),
            *merge_environments([*gitops_checks.rows(subjects, options.gitops)]),
            *_overwritten(chart_tree.tree for chart_tree in composed),
        )
        if failed(rows) and not options.check:
            return rows, _GeneratedFolders(())
        trees = [chart_tree.tree for chart_tree in (*composed, *others)]
        if options.kustomize:
            trees += overlay_trees(project.root, subjects)
        trees += deployers.trees(project, options.gitops, options.repository)
        installed: Sequence[Tree] = ()
        judged = [row for row in rows if row.check != UNREAD]
        if folder is not None and subjects and not failed(judged):
            if writes_manifests:
                installed = [manifests(folder, target) for target in subjects]
            else:
                rows = (*rows, uncompared(folder))
        is_lasting = options.uses_cache and not failed(rows) and is_repeatable(subjects)
        generated = _GeneratedFolders(trees, installed, is_lasting)
    for tree in (*generated.charts, *generated.manifests):
        write.require_own(tree, project.root)
    return rows, generated


def _compose(project: Project, plan: ChartPlan, prefer: Prefer) -> _ChartTree:
    return _ChartTree(plan, write.compose(plan, project.charts / plan.name, prefer))


def _check(
    subjects: Sequence[CheckTarget], plans: Sequence[ChartPlan], options: RenderOptions
) -> Iterator[Row]:
    policies, today = _policies(plans).policies, datetime.now(UTC).date()

    def rows(subject: CheckTarget) -> Sequence[Row]:
        check = partial(check_environment, subject, policies, today, options.update_baseline)
        is_new = options.update_baseline or not options.uses_cache
        return check() if is_new else cached_rows(subject, check)

    return merge_environments([row for target in options.track(subjects) for row in rows(target)])


def _policies(plans: Iterable[ChartPlan]) -> ChartPlan:
    return next(plan for plan in plans if plan.name == POLICIES)


def _overwritten(trees: Iterable[Tree]) -> Iterator[Row]:
    for tree in trees:
        for row in tree.diagnostics():
            yield Row(ALL, "files", Outcome.WARNING, row.message, row.location, row.hint)


def _left(folders: Sequence[Path], root: Path) -> Iterator[Row]:
    """Yield a row for each folder that an interrupted render left; none while one is running."""
    left = [file for folder in folders for file in atomic_folder.left_behind(folder)]
    if left and atomic_folder.is_free(root):
        for path in left:
            message, hint = "was left by a render that was interrupted", "render again"
            yield Row(ALL, "files", Outcome.FAIL, message, Location(str(path)), hint)


def _publish(trees: Sequence[Tree], root: Path) -> tuple[Path, ...]:
    """Write what differs; return the folders that changed. The charts come last: where only some
    were written, `--check` finds the charts to differ."""
    different = [tree for tree in trees if not write.unchanged(tree)]
    for tree in reversed(different):
        write.publish(tree, root)
    return tuple(tree.folder for tree in different)


def plan_charts(
    project: Project,
    upstream: Mapping[str, Vendored],
    exceptions: dict[str, ShippedExceptions] | None = None,
) -> Iterator[ChartPlan]:
    """Plan a project's charts, the engine's first; upstream: the vendored ones, by name;
    exceptions: to put those of each environment into."""
    shipped = {} if exceptions is None else exceptions

    def exceptions_of(env: Environment, policies: Mapping[str, InstalledPolicy]) -> Sequence[Body]:
        shipped[env.name] = shipped_exceptions(env, policies)
        return shipped[env.name].bodies

    environments = list(project.environments.values())
    with_engine = [env for env in environments if env.engine]
    current = releases.current()
    for env in with_engine if ENGINE not in upstream else ():
        if env.kyverno not in current.serves:
            served = ", ".join(map(str, current.serves))
            message = f"the engine chart installs Kyverno {served}, not {env.kyverno}"
            hint = (
                f'set kyverno: "{current.version}", or engine: false where another chart installs '
                "Kyverno; `chartkit vendor chart kyverno` takes upstream's chart of another version"
            )
            raise InputError(message, env.locate("kyverno"), hint)
    if POLICIES in upstream:
        policies = vendored.plan(upstream[POLICIES], environments, project.root)
    else:
        policies = policies_chart.plan(project, exceptions_of)
    if with_engine and ENGINE in upstream:
        yield vendored.plan(upstream[ENGINE], with_engine, project.root)
    elif with_engine:
        timeouts = webhook_timeouts(project, policies)
        own = {env.name: _own_values(env, shipped.get(env.name)) for env in with_engine}
        available = {env.name: env.high_availability for env in with_engine}
        monitored = {env.name: env.monitoring for env in with_engine if env.monitoring}
        kyverno = {env.name: release for env in with_engine if (release := _installed_release(env))}
        versions = dict.fromkeys(env.kyverno for env in with_engine)
        accepted = [env.kubernetes for env in with_engine if env.is_unsupported]
        yield engine_chart.plan(
            available,
            matrix.kube_version_range(versions, None, with_engine[0].versions, accepted),
            monitored,
            timeouts,
            project.metadata,
            own,
            kyverno,
            {env.name for env in with_engine if env.kubernetes >= engine_chart.SLEEP_SINCE},
        )
    yield policies
    if REPORTER in upstream:
        yield vendored.plan(upstream[REPORTER], environments, project.root)


def plan_values_alone(project: Project, upstream: Mapping[str, Vendored]) -> Iterator[ChartPlan]:
    """Plan values files for a chart outside the project: policy-reporter's, unless vendored."""
    settings = {
        env.name: (env.policy_reporter, env.monitoring)
        for env in project.environments.values()
        if env.policy_reporter
    }
    if settings and REPORTER not in upstream:
        yield monitoring.plan(settings)


def _own_values(env: Environment, exceptions: ShippedExceptions | None) -> Body:
    """Return the values of the project's own, with what the exceptions of the environment need."""
    made = engine_features(exceptions or NO_EXCEPTIONS)
    if env.is_unsupported:
        made = {**made, "global": ALLOWED}
    return merge(made, own_values(env).merged)


def _installed_release(env: Environment) -> str:
    """Return the release that the engine's chart installs in an environment: the one that the
    environment names, or the newest of its minor version; empty for the chart's own."""
    release, current = env.release, releases.current()
    if release is None and env.kyverno != current.version:
        newest = matrix.compatibility(env.kyverno, None, env.versions).newest_release
        release = newest[0] if newest else None
    tag = f"v{release}" if release else ""
    return "" if tag == current.app_version else tag
