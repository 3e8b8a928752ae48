"""Coverage: the rules, leaves and branches of both forms that the requests of a proof reached."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from chartkit.addons.migrate.proof.forms import Form, Said
from chartkit.addons.migrate.proof.leaves.paths import Path, path_text
from chartkit.addons.migrate.proof.model import Coverage, Reached
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.facets import Facet
from chartkit.engine import Request, World
from chartkit.engine.cel.ast import Call, Comprehension, Expr, Select, nodes
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.syntax.format import unparse
from chartkit.engine.cel.types import BOOL
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.constraints import Constraints
from chartkit.engine.cel_policies.evaluator import admission, new_host
from chartkit.engine.cel_policies.expressions import ExpressionCompiler
from chartkit.engine.cel_policies.kinds.validating import INDEX
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cel_policies.scope import Attributes, PolicyScope, Variables
from chartkit.engine.cluster_policy.policy import Policy, RuleKind
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.errors import ChartkitError
from chartkit.model import RuleResult, Status
from chartkit.wording import shortened

MOST_TRACES: Final = 400
"""The most requests that one policy is traced for."""
_KINDS: Final = (CelKind.VALIDATING, CelKind.MUTATING, CelKind.GENERATING)
"""Those that have conditions to look at."""
_TRUTHS: Final = ("true", "false")
_LENGTHS: Final = ("empty", "one", "many")
_LONGEST: Final = 100
_MOST_COURSES: Final = 40
"""So many requests of one policy that take other branches than those before are changed further."""


class _Part:
    """A part of an expression and the states that it had."""

    def __init__(self, name: str, node: Expr, wanted: tuple[str, ...]) -> None:
        self.name = name
        self.id = node.id
        self.wanted = wanted
        self.states: Counter[str] = Counter()

    def note(self, value: Value) -> str:
        """Count a value, and return its state."""
        state = _state(value)
        if state in self.wanted:
            self.states[state] += 1
        return state


class Branches:
    """The branches of the conditions and validations of one policy, for what it matches itself."""

    def __init__(self, policy: CelPolicy) -> None:
        compiler = ExpressionCompiler(policy)
        self._policy = policy
        self._constraints = Constraints(policy.constraints) if policy.constraints else None
        self._traces = 0
        self._courses: set[tuple[str, ...]] = set()
        conditions = compiler.conditions(policy.conditions)
        self._variables = compiler.variables(policy.variables)
        validations = compiler.validations(policy.validations)
        self._programs: list[tuple[Program, list[_Part]]] = []
        for named, program in zip(policy.conditions, conditions, strict=True):
            self._programs.append((program, list(_parts(f"match condition {named.name}", program))))
        for index, item in enumerate(validations):
            self._programs.append((item.program, list(_parts(f"validation {index}", item.program))))
        for name, program in self._variables.items():
            self._programs.append((program, list(_parts(f"variable {name}", program))))

    def watch(self, request: Request, world: World) -> bool:
        """Note the branches that a request takes; return whether no other takes the same ones."""
        attributes = Attributes(request)
        if self._traces >= MOST_TRACES or not self._is_about(attributes):
            return False
        self._traces += 1
        seen = admission(attributes, world)
        host, scope = new_host(self._policy, world), PolicyScope(seen.scope)
        scope["exceptions"] = {}
        scope["variables"] = Variables(self._variables, scope, host)
        course: list[str] = []
        for program, parts in self._programs:
            trace = program.trace(scope, host)
            course += (part.note(trace[part.id]) if part.id in trace else "" for part in parts)
        is_new = tuple(course) not in self._courses and len(self._courses) < _MOST_COURSES
        if is_new:
            self._courses.add(tuple(course))
        return is_new

    def _is_about(self, attributes: Attributes) -> bool:
        try:
            return self._constraints is not None and self._constraints.match(attributes)
        except ChartkitError:
            return False

    def states(self) -> Iterator[tuple[str, Counter[str], tuple[str, ...]]]:
        """Yield the name of each part, its states, and the states that it should have."""
        for _, parts in self._programs:
            for part in parts:
                yield part.name, part.states, part.wanted


def _parts(name: str, program: Program) -> Iterator[_Part]:
    checked = program.checked
    macros = checked.parsed.macro_calls
    root = program.root
    loops = (node for node in nodes(root) if isinstance(node, Comprehension))
    inside = {part.id for loop in loops for part in _bookkeeping(loop)}
    texts: set[str] = set()
    for node in nodes(program.root):
        if node.id in inside or node.id not in checked.types:
            continue
        watched: list[tuple[Expr, tuple[str, ...]]] = []
        if isinstance(node, Comprehension) and node.id in macros:
            watched.append((node.iter_range, _LENGTHS))
        if checked.types[node.id] == BOOL and isinstance(node, Call | Select | Comprehension):
            watched.append((node, _TRUTHS))
        for part, wanted in watched:
            short = shortened(" ".join(unparse(part, macros).split()), _LONGEST)
            text = f"{name}: {short}"
            if text not in texts:
                texts.add(text)
                yield _Part(text, part, wanted)


def _bookkeeping(loop: Comprehension) -> Iterator[Expr]:
    """Yield the nodes that a macro adds to what its author wrote."""
    yield from nodes(loop.accu_init)
    yield from nodes(loop.loop_condition)
    yield from nodes(loop.result)
    yield loop.loop_step


def _state(value: Value) -> str:
    if isinstance(value, CelError):
        return "error"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return _LENGTHS[min(len(value), 2)]
    return ""


LEGACY: Final = "legacy"
NEW: Final = "new"
BOTH: Final = "both"
_VALIDATES: Final = ("pass", "fail")
_ACTS: Final = ("pass",)


class Tally:
    """Counts what each request reached."""

    def __init__(self, legacy: Form, new: Form) -> None:
        self._legacy = legacy
        self._new = new
        self._rules = defaultdict[str, Counter[str]](Counter)
        self._validations = defaultdict[str, Counter[str]](Counter)
        self._tries = defaultdict[Path, Counter[str]](Counter)
        self._policies = {
            item.policy.id: item.policy
            for item in new.admitting
            if isinstance(item, CompiledCelPolicy)
        }
        watched = [
            item for item in self._policies.values() if item.kind in _KINDS and not item.json
        ]
        self._branches = {policy.id: Branches(policy) for policy in watched}

    def count(self, case: Case, legacy: Said, new: Said) -> None:
        """Count one request."""
        for result in legacy.results:
            self._rules[result.rule][str(result.status)] += 1
        for result in new.results:
            policy = self._policies.get(result.policy_id)
            if policy is not None:
                self._count_policy(policy, result)
        if legacy.results and new.results:
            for path, state in case.tries:
                self._tries[path][state] += 1

    def watch(self, request: Request, world: World) -> bool:
        """Count the branches of expressions that a request takes; return whether no other took
        the same ones."""
        return sum(branches.watch(request, world) for branches in self._branches.values()) > 0

    def _count_policy(self, policy: CelPolicy, result: RuleResult) -> None:
        self._validations[policy.id][str(result.status)] += 1
        if result.status is Status.SKIP:
            return
        index = result.properties.get(INDEX)
        decided = int(index) if index is not None else len(policy.validations)
        for at in range(min(decided, len(policy.validations))):
            self._validations[f"{policy.id}/validations[{at}]"]["true"] += 1
        if index is not None and result.status in (Status.FAIL, Status.WARN):
            self._validations[f"{policy.id}/validations[{decided}]"]["false"] += 1

    def coverage(
        self, facets: Iterable[Facet], refused: Container[tuple[Path, str]] = ()
    ) -> Coverage:
        """Return what was reached, and what there is besides; refused: states of places that no
        API server stores."""
        return Coverage(
            (*self._of_rules(), *self._of_validations(), *self._of_facets(facets, refused))
        )

    def _of_rules(self) -> Iterator[Reached]:
        for policy in self._legacy.admitting:
            if not isinstance(policy.policy, Policy):
                continue
            for rule in policy.policy.rules:
                validates = rule.kind.type is RuleKind.VALIDATE.type
                skips = ("skip",) if rule.preconditions else ()
                planned = (*(_VALIDATES if validates else _ACTS), *skips)
                states: Mapping[str, int] = self._rules.pop(rule.name, {})
                yield _reached(LEGACY, f"rule {rule.name}", states, planned)
        for name, states in sorted(self._rules.items()):
            yield _reached(LEGACY, f"rule {name}", states, ())

    def _of_validations(self) -> Iterator[Reached]:
        for policy in self._policies.values():
            wanted = _VALIDATES if policy.validations else _ACTS
            skips = ("skip",) if policy.conditions else ()
            yield _reached(NEW, policy.id, self._validations.get(policy.id, {}), (*wanted, *skips))
            for at in range(len(policy.validations)):
                name = f"{policy.id}/validations[{at}]"
                yield _reached(NEW, name, self._validations.get(name, {}), ("true", "false"))
            branches = self._branches.get(policy.id)
            for text, states, planned in branches.states() if branches is not None else ():
                yield _reached(NEW, f"{policy.id}/{text}", states, planned)

    def _of_facets(
        self, facets: Iterable[Facet], refused: Container[tuple[Path, str]]
    ) -> Iterator[Reached]:
        states: dict[Path, set[str]] = {}
        for facet in facets:
            states.setdefault(facet.path, set()).update(facet.states)
        for path, planned in sorted(states.items(), key=lambda item: path_text(item[0])):
            tried = self._tries.get(path, Counter())
            possible = [key for key in sorted(planned) if tried[key] or (path, key) not in refused]
            if possible:
                yield _reached(BOTH, path_text(path), tried, possible)


def _reached(form: str, name: str, states: Mapping[str, int], planned: Sequence[str]) -> Reached:
    missing = tuple(state for state in planned if not states.get(state))
    return Reached(form, name, dict(sorted(states.items())), missing)
