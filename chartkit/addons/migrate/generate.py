"""The objects that a generate rule makes: an object that it holds, a clone, or clones of a list."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import NULL_VALUES, SAME_NAMES
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_MAP, Place
from chartkit.addons.migrate.expressions.presence import reads_absent
from chartkit.addons.migrate.expressions.verdict import disjunction
from chartkit.addons.migrate.jmespath import Constant, Names, Stream, Term, Value, stream_of
from chartkit.addons.migrate.jmespath.functions.collections import merge
from chartkit.addons.migrate.jmespath.terms import Members, computed, expression_of
from chartkit.addons.migrate.matching.facts import Operations
from chartkit.addons.migrate.rule import (
    ConvertedRule,
    Variable,
    asked_of_writes,
    needed,
    with_entries,
)
from chartkit.addons.migrate.texts import query_term, term_of
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.cel.syntax import Expr, format_expression
from chartkit.engine.cel.syntax.tree import (
    Binary,
    Call,
    Literal,
    Select,
    count,
    functions,
    replaced,
)
from chartkit.engine.cel_policies.generation import TemplateError, read_documents, scan, value_of
from chartkit.engine.cluster_policy.generate import split_kind
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables import has_references, has_variable
from chartkit.engine.context.variables.syntax import unescape
from chartkit.engine.kubernetes.kinds import (
    CelKind,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
    resource_name,
)
from chartkit.model import Body, Json

_OPEN: Final = "(("
_ONE_LINE: Final = 100_000


@dataclass(frozen=True, slots=True)
class Template:
    """A `template` of a GeneratingPolicy, and the expressions in it."""

    body: Body
    expressions: tuple[Expr, ...]


def template_of(body: Body, names: Names) -> Template:
    """Return an object as a template; raises `NotConvertible`."""
    filler = _Filler(names)
    filled = filler.fill(body)
    text = dump_yaml(filled)
    try:
        (document,) = read_documents(text)
        same = value_of(document) == filled
    except (TemplateError, ValueError):
        same = False
    if not same:
        raise NotConvertible("a text that a template reads as another value", "generate/data")
    made: Body = {"value": text}
    if filler.marks:
        made = {"interpolate": "cel", **made}
    return Template(made, tuple(filler.expressions))


def constant_text(value: Json, names: Names, what: str) -> str:
    """Return a text that depends on nothing; raises `NotConvertible`."""
    term = term_of(value, names)
    if isinstance(term, Constant) and isinstance(term.value, str):
        return term.value
    raise NotConvertible(f"the {what} of what is generated depends on the trigger", "generate")


def certain(term: Term, names: Names) -> Expr:
    """Return a term that is an error where it is null; raises `NotConvertible` for null itself."""
    is_null = isinstance(term, Stream) and term.presence != cel.TRUE
    if is_null or (isinstance(term, Value) and term.place.is_optional and not term.strict):
        names.note(NULL_VALUES)
        term = needed(term)
    if isinstance(term, Constant) and term.value is None:
        raise NotConvertible("a value of what is generated that is null", "generate")
    return expression_of(term)


@dataclass(slots=True)
class _Filler:
    names: Names
    expressions: list[Expr] = field(default_factory=list)
    marks: bool = False

    def fill(self, value: Json) -> Json:
        """Return a value with placeholders in place of variables."""
        if isinstance(value, dict):
            if any(has_variable(key) or _OPEN in key for key in value):
                raise NotConvertible("a variable in a key of what is generated", "generate")
            return {unescape(key): self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> Json:
        term = term_of(text, self.names)
        if isinstance(term, Constant) and not isinstance(term.value, str):
            return term.value
        parts = list(_parts(certain(term, self.names)))
        expected = [
            part if isinstance(part, str) else ("cel", format_expression(part, _ONE_LINE))
            for part in parts
        ]
        made = "".join(
            part.replace(_OPEN, f"\\{_OPEN}") if isinstance(part, str) else f"(( {part[1]} ))"
            for part in expected
        )
        if made == text and not has_variable(text):
            return made
        self.marks = True
        self.expressions += [part for part in parts if not isinstance(part, str)]
        try:
            same = scan(made, 1) == expected
        except TemplateError:
            same = False
        if not same:
            raise NotConvertible("parentheses that a template reads otherwise", "generate/data")
        return made


def _parts(expr: Expr) -> Iterator[str | Expr]:
    """Yield the texts and expressions that are joined; a sum without a text is one expression."""
    parts = list(_summands(expr))
    if any(isinstance(part, str) for part in parts):
        yield from parts
    else:
        yield expr


def _summands(expr: Expr) -> Iterator[str | Expr]:
    match expr:
        case Literal(str() as text):
            yield text
        case Binary("+", left, right):
            yield from _summands(left)
            yield from _summands(right)
        case _:
            yield expr


_SOURCE: Final = "source"


@dataclass(frozen=True, slots=True)
class Step:
    """An entry of `spec.generate`; expressions: those in it; variables: those that it needs."""

    body: Body
    expressions: tuple[Expr, ...]
    variables: tuple[Variable, ...] = ()


def steps_of(body: Body, names: Names, namespace: str) -> Iterator[Step]:
    """Yield what a generate block makes; namespace: of a namespaced policy; empty for a
    ClusterPolicy.

    Raises `NotConvertible`.
    """
    clone: Body = body.get("clone") or {}
    clones: Body = body.get("cloneList") or {}
    if clone.get("name"):
        yield _clone(body, clone, names, namespace)
    elif clones.get("kinds"):
        if namespace:
            raise NotConvertible("clones for a policy of a namespace", "generate/cloneList")
        if not clones.get("namespace") or not body.get("namespace"):
            raise NotConvertible("clones of objects of all namespaces", "generate/cloneList")
        target = certain(term_of(body["namespace"], names), names)
        origin = certain(term_of(clones["namespace"], names), names)
        labels = _labels(clones.get("selector"), names)
        for text in clones["kinds"]:
            api_version, kind = split_kind(constant_text(text, names, "kind"))
            if not api_version:
                raise NotConvertible(
                    f"the kind {kind} without a version", "generate/cloneList/kinds"
                )
            plural = resource_name(kind)
            listed = cel.method(cel.ident("resource"), "List", api_version, plural, origin, *labels)
            yield _elsewhere(Variable(plural, listed), (target, origin))
    else:
        template = template_of(object_of(body, names, namespace), names)
        yield Step({"template": template.body}, template.expressions)


def object_of(body: Body, names: Names, namespace: str) -> Body:
    """Return the object of a generate block, its variables as they are written."""
    data: Json = body.get("data") or {}
    if not isinstance(data, dict):
        raise NotConvertible("data that is a variable as a whole", "generate/data")
    given: Json = data.get("metadata") or {}
    if not isinstance(given, dict):
        raise NotConvertible("metadata that is a variable as a whole", "generate/data/metadata")
    api_version, kind = _kind_of(body, names)
    kind = constant_text(data.get("kind") or kind, names, "kind")
    if not body.get("name"):
        raise NotConvertible("what is generated has no name", "generate")
    metadata = {"name": body["name"]}
    target = target_namespace(body, (api_version, kind), names, namespace)
    if target is not None:
        metadata["namespace"] = body["namespace"]
    metadata |= {
        key: value
        for key, value in given.items()
        if key not in ("name", "namespace", "resourceVersion")
    }
    made = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return made | {key: value for key, value in data.items() if key not in made}


def target_namespace(
    body: Body, kind: tuple[str, str], names: Names, namespace: str
) -> Expr | None:
    """Return the namespace of what is generated, None for a kind that is in none."""
    cluster_scoped = is_cluster_scoped(GroupVersionKind(*parse_api_version(kind[0]), kind[1]))
    written = body.get("namespace") or ""
    if cluster_scoped:
        if written or namespace:
            raise NotConvertible("an object outside of namespaces, for a namespace", "generate")
        return None
    if not written:
        raise NotConvertible("what is generated has no namespace", "generate")
    expression = certain(term_of(written, names), names)
    if namespace and expression != cel.literal(namespace):
        raise NotConvertible("a policy of a namespace that generates in another", "generate")
    return expression


def applied(namespace: str, target: Expr, objects: list[Expr]) -> Expr:
    """Return the call that generates objects in a namespace."""
    place = [] if namespace else [target]
    return cel.method(cel.ident("generator"), "Apply", *place, cel.list_of(objects))


def _kind_of(body: Body, names: Names) -> tuple[str, str]:
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if not (api_version and (kind or (body.get("data") or {}).get("kind"))):
        raise NotConvertible("what is generated has no kind or no API version", "generate")
    return constant_text(api_version, names, "API version"), kind or ""


def _clone(body: Body, clone: Body, names: Names, namespace: str) -> Step:
    api_version, kind = _kind_of(body, names)
    kind = constant_text(kind, names, "kind")
    target = target_namespace(body, (api_version, kind), names, namespace)
    name = certain(term_of(clone["name"], names), names)
    if target is None or not clone.get("namespace"):
        raise NotConvertible("a clone of an object outside of namespaces", "generate/clone")
    new_name = certain(term_of(body.get("name") or "", names), names)
    origin = certain(term_of(clone["namespace"], names), names)
    if namespace:
        raise NotConvertible("a clone for a policy of a namespace", "generate/clone")
    call = cel.method(cel.ident("resource"), "Get", api_version, resource_name(kind), origin, name)
    if new_name == name:
        return _elsewhere(Variable(_SOURCE, call), (target, origin))
    renamed = cel.bind(
        _SOURCE, cel.call("dyn", call), _renamed(cel.ident(_SOURCE), new_name, names)
    )
    return _elsewhere(Variable(_SOURCE, renamed), (target, origin), (new_name, name))


def _renamed(source: Expr, name: Expr, names: Names) -> Expr:
    """Return an object under another name."""

    def with_member(object_: Expr, key: str, value: Expr) -> Expr:
        member = Constant(Members({key: computed(value)}))
        return expression_of(merge(names, [computed(object_, ANY_MAP), member]))

    metadata = with_member(cel.field(source, "metadata"), "name", name)
    return with_member(source, "metadata", metadata)


def _elsewhere(source: Variable, *moves: tuple[Expr, Expr]) -> Step:
    """Return the step that copies a source into a namespace, unless that is where it is; moves: the
    namespace, and perhaps the name, of the copy and of the source."""
    expression = applied("", moves[0][0], [cel.variable(source.name)])
    if not any(
        isinstance(new, Literal) and isinstance(old, Literal) and new != old for new, old in moves
    ):
        is_source = cel.all_of(cel.equal(new, old) for new, old in moves)
        expression = cel.any_of((is_source, expression))
    return Step({"expression": expression}, (expression,), (source,))


def _labels(selector: Json, names: Names) -> list[Expr]:
    if selector is None:
        return []
    labels = selector.get("matchLabels") if isinstance(selector, dict) else None
    if not labels or selector.get("matchExpressions"):
        raise NotConvertible("expressions in the selector of clones", "generate/cloneList/selector")
    if any("*" in text or "?" in text for text in (*labels, *map(str, labels.values()))):
        raise NotConvertible("wildcards in the selector of clones", "generate/cloneList/selector")
    return [certain(term_of(labels, names), names)]


def loop_steps(loop: Body, names: Names, namespace: str, path: str) -> Iterator[Step]:
    """Yield what a loop makes; raises `NotConvertible`."""
    elements = query_term(str(loop.get("list") or "").strip(), names)
    if isinstance(elements, Constant):
        if not isinstance(elements.value, list):
            raise NotConvertible("a foreach over a value that is not a list", f"{path}/list")
        for element in elements.value:
            if loop.get("preconditions") is not None or not isinstance(element, str):
                raise NotConvertible("conditions on elements that are written in the rule", path)
            inner = names.with_others(element=Constant(element))
            inner = with_entries(loop.get("context"), inner, namespace, path=f"{path}/context")
            yield from steps_of(loop, inner, namespace)
        return
    stream = stream_of(elements, names)
    if isinstance(elements, Value) and elements.strict:
        # Without a list, nothing is generated: not by the other loops either.
        stream = stream.required()
    variables = {generator.variable for generator in stream.generators}
    sources = dict[str, Variable]()

    def made(item: Place) -> Expr:
        inner = Names(names.objects, names.others, names.taken | variables)
        index = computed(cel.ident(_INDEX), "int")
        inner = inner.with_others(element=Value(item), elementIndex=index)
        inner = with_entries(loop.get("context"), inner, namespace, path=f"{path}/context")
        call, used = _applied(loop, inner, namespace, variables)
        sources.update({variable.name: variable for variable in used})
        if loop.get("preconditions") is None:
            return call
        return disjunction(cel.negate(conditions_hold(loop["preconditions"], inner)), call)

    expression = _numbered(stream.all(made), path)
    names.note(SAME_NAMES)
    yield Step({"expression": expression}, (expression,), tuple(sources.values()))


def _numbered(loop: Expr, path: str) -> Expr:
    """Return a loop as one over the numbers of its elements, where its body names these."""
    index = cel.ident(_INDEX)
    match loop:
        case Call("all", Call() | Select() as elements, (variable, body)) if count(body, index):
            if isinstance(body, Call) and body.function == "all":
                raise NotConvertible("the number of an element of several lists", f"{path}/list")
            numbers = cel.method(cel.ident("lists"), "range", cel.method(elements, "size"))
            inner = replaced(body, variable, cel.index(elements, index))
            return cel.macro(numbers, "all", _INDEX, inner)
    return loop


def _applied(
    loop: Body, names: Names, namespace: str, variables: Collection[str]
) -> tuple[Expr, Sequence[Variable]]:
    """Return the call that generates what a loop makes of an element, and the variables that it
    needs; variables: those of the loop."""
    if (loop.get("cloneList") or {}).get("kinds"):
        raise NotConvertible("lists of clones for each element of a list", "generate/foreach")
    if (loop.get("clone") or {}).get("name"):
        step = _clone(loop, loop["clone"], names, namespace)
        ((source,), (call,)) = step.variables, step.expressions
        read = source.expression
        if isinstance(read, str) or not any(count(read, cel.ident(name)) for name in variables):
            return call, step.variables
        return replaced(call, cel.variable(source.name), read), ()
    made = object_of(loop, names, namespace)
    kind = (made["apiVersion"], made["kind"])
    target = target_namespace(loop, kind, names, namespace)
    made["metadata"].pop("namespace", None)
    body = certain(term_of(made, names), names)
    return applied(namespace, cel.literal("") if target is None else target, [body]), ()


_INDEX: Final = "index"
_ACCOUNT: Final = "parseServiceAccount"
_KEPT: Final = (
    "before the old policy is deleted, set orphanDownstreamOnPolicyDelete: true in its rule: "
    "Kyverno deletes what it generated otherwise"
)
_SYNCHRONIZED: Final = (
    "an object of that name that is there already, and that the policy did not generate, is left "
    "as it is: the rule wrote over it",
    "releases with the fault kyverno/kyverno#17594 delete and re-create every hour what a "
    "GeneratingPolicy with synchronize generated; check-compat names them",
    "an update of the trigger that changes nothing may delete what was generated "
    "(kyverno/kyverno#17452)",
    "an update of the trigger may come to nothing: Kyverno sometimes takes its own change of "
    "what was generated for a user's, and reverts it",
    "what somebody deletes is generated again, but Kyverno may not synchronize it any more: later "
    "changes of it stay, and changes of its source do not reach it",
)
_ONCE: Final = (
    "an update of the trigger writes what was generated again, over changes made to it since: the "
    "rule wrote it once",
)
_WITHOUT_OPERATION: Final = (
    "generateExisting stays without effect, as the rule names operations and existing objects have "
    "none"
)


def convert_generate(rule: Rule, policy: Policy) -> ConvertedRule:
    """Return a generate rule as what a GeneratingPolicy generates; raises `NotConvertible`."""
    if has_references(rule.body):
        raise NotConvertible("a reference to another part of the policy")
    body: Body = rule.generate or {}
    others = "it generates where something is deleted or connected to"
    about = asked_of_writes(rule, policy.namespace, others, validated=True)
    scope, context = about.scope, about.context
    loops = body.get("foreach")
    steps = [*(steps_of(body, context.names, policy.namespace) if loops is None else ())]
    for index, loop in enumerate(loops or ()):
        path = f"generate/foreach/{index}"
        steps += loop_steps(loop, context.names, policy.namespace, path)
    named = [expression for step in steps for expression in step.expressions]
    sources = tuple({entry.name: entry for step in steps for entry in step.variables}.values())
    named += [source.expression for source in sources if not isinstance(source.expression, str)]
    for part in (*named, *(condition.expression for condition in about.conditions)):
        if not isinstance(part, str) and _ACCOUNT in functions(part):
            raise NotConvertible("a GeneratingPolicy cannot tell the service account of a user")
    evaluation, changes = _evaluation(body, rule, policy, about.stated)
    applies_at_server = policy.resource.body["spec"].get("useServerSideApply")
    spec: Body = {
        **({"evaluation": evaluation} if evaluation else {}),
        **({"useServerSideApply": True} if applies_at_server is True else {}),
        "generate": [step.body for step in steps],
    }
    return ConvertedRule(
        CelKind.GENERATING,
        scope,
        spec,
        about.conditions,
        (*context.used_in(named), *sources),
        changes=(*changes, *context.names.changes),
        background=about.stated.background,
        assumed=scope.object.assumed or {},
        may_fail=bool(sources or context.used_in(named))
        or any(reads_absent(expression, scope.object) for expression in named),
    )


def _evaluation(
    body: Body, rule: Rule, policy: Policy, stated: Operations
) -> tuple[Body, list[str]]:
    """Return the settings, and the behaviour that differs."""
    made: Body = {}
    changes: list[str] = []
    existing = body.get("generateExisting")
    if existing is None:
        existing = policy.resource.body["spec"].get("generateExisting")
    filters = (rule.match.direct, *rule.match.any, *rule.match.all)
    if existing and stated.background and not any(filter_.operations for filter_ in filters):
        made["generateExisting"] = {"enabled": True}
    elif existing:
        changes.append(_WITHOUT_OPERATION)
    orphans = body.get("orphanDownstreamOnPolicyDelete") is True
    if body.get("synchronize") is True:
        made["synchronize"] = {"enabled": True}
        changes += (*_SYNCHRONIZED, *([] if orphans else [_KEPT]))
    else:
        changes += _ONCE
    if orphans:
        made["orphanDownstreamOnPolicyDelete"] = {"enabled": True}
    if not rule.skip_background_requests:
        made["skipBackgroundRequests"] = False
    return made, changes
