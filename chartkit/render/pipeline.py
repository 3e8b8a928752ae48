"""From a project to its charts: planned, merged with hand edits, checked, and only then written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.engine import policy_reporter
from chartkit.charts.names import ENGINE, POLICIES, REPORTER
from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies import chart as policies_chart
from chartkit.charts.upstream import vendored
from chartkit.charts.upstream.vendored import Vendored
from chartkit.errors import InputError
from chartkit.helm import choice as helm
from chartkit.kyverno import matrix as compat
from chartkit.kyverno import releases
from chartkit.library.policies import LibraryPolicy
from chartkit.library.profiles import Resolved
from chartkit.output import swap, write
from chartkit.output.values_merge import Prefer
from chartkit.output.write import Tree
from chartkit.project.project import Environment, Project, Workload
from chartkit.render import overlays
from chartkit.render.checks.policy_warnings import together
from chartkit.render.checks.run import check_environment, failed
from chartkit.render.checks.vendored import taken_rows
from chartkit.render.environment import ALL, Chart, Subject
from chartkit.render.manifests import drift, manifests
from chartkit.render.model import Outcome, Row
from chartkit.temporary import temporary_folder

_THREADS = 4


@dataclass(frozen=True, slots=True)
class Options:
    """environments: those to check and to write manifests of; workloads: what to scan besides;
    kustomize: whether to write overlays of them, too."""

    environments: tuple[Environment, ...]
    workloads: tuple[Workload, ...] = ()
    prefer: Prefer = Prefer.NEITHER
    check: bool = False
    kustomize: bool = False


@dataclass(frozen=True, slots=True)
class Build:
    """rows: the summary; drift: a unified diff, where it was asked for; written: folders that
    changed on disk."""

    rows: tuple[Row, ...]
    drift: str = ""
    written: tuple[Path, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a check failed or the charts have drifted."""
        return bool(self.drift) or failed(list(self.rows))


def build(project: Project, options: Options) -> Build:
    """Plans, merges, checks and writes the charts; a failed check writes nothing.

    Raises ConflictError where a hand edit cannot be merged, RenderError where a chart does not
    render, InputError where something that the project names cannot be used or another render
    runs.
    """
    folders = written_folders(project)
    for folder in folders:
        swap.require_inside(folder, project.root)
    if options.check:
        found = _build(project, options)
        return replace(found, drift=found.drift + "".join(_left(folders, project.root)))
    with swap.lock(project.root):
        for folder in folders:
            swap.repair_all(folder)
        return _build(project, options)


def written_folders(project: Project) -> tuple[Path, ...]:
    """Return the folders in which a project's generated folders are."""
    manifests = () if project.manifests is None else (project.manifests,)
    return (project.charts, *manifests, project.root / overlays.FOLDER)


def _left(folders: Sequence[Path], root: Path) -> Iterator[str]:
    """Yield a line for each folder that an interrupted render left; none while one is running."""
    left = [each for folder in folders for each in swap.left_behind(folder)]
    if left and swap.is_free(root):
        yield from (
            f"{each}: left by a render that was interrupted; render again\n" for each in left
        )


def _build(project: Project, options: Options) -> Build:
    taken = vendored.read_vendored(project.root)
    with temporary_folder() as parent, _helm_threads() as executor:
        trees: dict[str, Tree] = {}
        charts: list[Chart] = []
        carried: tuple[LibraryPolicy, ...] | None = None
        resolved: Mapping[str, Resolved] = {}
        written = project.manifests is not None
        for plan in _plans(project, taken):
            trees[plan.name] = tree = _composed(project, plan, options)
            folder = write.lay_out(tree, parent)
            if plan.name == POLICIES:
                carried, resolved = plan.policies, plan.resolved
            for env in options.environments:
                if plan.name != ENGINE or env.engine:
                    foreign = plan.name in taken
                    charts.append(Chart(plan.name, tree, folder, env, executor, foreign, written))
                    # Helm works on it while the next one is planned.
                    charts[-1].start()
        others = [_composed(project, plan, options) for plan in _values_alone(project, taken)]
        subjects = [
            _subject(project, env, charts, options, resolved.get(env.name))
            for env in options.environments
        ]
        found = list(taken_rows(project, taken, options.environments))
        checked = [row for subject in subjects for row in check_environment(subject, carried)]
        found += together(checked)
        found += [row for tree in trees.values() for row in _overwritten(tree)]
        if failed(found) and not options.check:
            return Build(tuple(found))
        generated = [*trees.values(), *others]
        if options.kustomize:
            generated += overlays.trees(project.root, subjects)
        rendered: list[Tree] = []
        if project.manifests is not None and not failed(found):
            rendered = [manifests(project.manifests, subject) for subject in subjects]
    for tree in (*generated, *rendered):
        write.require_own(tree, project.root)
    if options.check:
        differing, rows = drift(rendered)
        return Build((*found, *rows), "".join(map(write.drift, generated)) + differing)
    return Build(tuple(found), written=_written([*generated, *rendered], project.root))


def _composed(project: Project, plan: ChartPlan, options: Options) -> Tree:
    return write.compose(plan, project.charts / plan.name, options.prefer)


@contextmanager
def _helm_threads() -> Iterator[Executor]:
    """Threads that wait for Helm, which works in child processes; they are ended where nobody
    wants their answers any more."""
    helm.start()
    executor = ThreadPoolExecutor(min(os.cpu_count() or 1, _THREADS))
    done = False
    try:
        yield executor
        done = True
    finally:
        if not done:
            helm.stop()
        executor.shutdown(cancel_futures=True)
        if not done:
            helm.close()


def _written(trees: Sequence[Tree], root: Path) -> tuple[Path, ...]:
    """Write what differs; gives the folders that changed.

    The charts come last: where only some were written, `--check` finds the charts to differ.
    """
    different = [tree for tree in trees if not write.unchanged(tree)]
    for tree in reversed(different):
        write.publish(tree, root)
    return tuple(tree.folder for tree in different)


def _plans(project: Project, taken: Mapping[str, Vendored]) -> Iterator[ChartPlan]:
    """The charts of a project, the engine's first; taken: upstream's own, in place of ours."""
    environments = list(project.environments.values())
    with_engine = [env for env in environments if env.engine]
    if with_engine:
        yield _engine_plan(project, taken.get(ENGINE), with_engine)
    policies = taken.get(POLICIES)
    if policies is None:
        yield policies_chart.plan(project)
    else:
        yield vendored.plan(policies, environments, project.root)
    reporter = taken.get(REPORTER)
    if reporter is not None:
        yield vendored.plan(reporter, environments, project.root)


def _engine_plan(
    project: Project, taken: Vendored | None, with_engine: Sequence[Environment]
) -> ChartPlan:
    if taken is not None:
        return vendored.plan(taken, with_engine, project.root)
    for env in with_engine:
        _require_supported(env)
    available = {env.name: env.high_availability for env in with_engine}
    monitored = {env.name: env.monitoring for env in with_engine if env.monitoring}
    version = releases.current().version
    return engine_chart.plan(available, compat.kube_version_range([version]), monitored)


def _values_alone(project: Project, taken: Mapping[str, Vendored]) -> Iterator[ChartPlan]:
    """Values files for a chart that does not stand here: policy-reporter's, where it is not
    vendored."""
    wanted = {
        env.name: (env.policy_reporter, env.monitoring)
        for env in project.environments.values()
        if env.policy_reporter
    }
    if wanted and REPORTER not in taken:
        yield policy_reporter.plan(wanted)


def _require_supported(env: Environment) -> None:
    supported = releases.current().version
    if env.kyverno != supported:
        message = f"the engine chart installs Kyverno {supported}, not {env.kyverno}"
        hint = (
            f'set kyverno: "{supported}", or engine: false where another chart installs Kyverno; '
            "`chartkit vendor chart kyverno` takes upstream's chart of another version"
        )
        raise InputError(message, env.locate("kyverno"), hint)


def _subject(
    project: Project,
    env: Environment,
    charts: Sequence[Chart],
    options: Options,
    resolved: Resolved | None,
) -> Subject:
    own = {chart.name: chart for chart in charts if chart.environment is env}
    others = tuple(own[name] for name in (REPORTER,) if name in own)
    workloads = (*env.workloads, *options.workloads)
    return Subject(project, env, own[POLICIES], own.get(ENGINE), others, workloads, resolved)


def _overwritten(tree: Tree) -> Sequence[Row]:
    return [
        Row(ALL, "files", Outcome.WARNING, each.message, each.location, each.hint)
        for each in tree.diagnostics()
    ]
