"""Templates of the library's policies: their functions, and the Helm text that they become.

`policy.yaml` and `cel.yaml` are jinja2 templates (`chartkit.library.templating`). What they print
through the vocabulary below becomes Helm expressions on `$.parameters`; everything else is plain
text, so that Kyverno's `{{ request.object }}` is written as Kyverno reads it
(`chartkit.helm.syntax`).

Values, each standing as a whole YAML value:

    x: <%= parameter("minimum") %>                               the value itself
    x: <%= message("check-tag", parameter("minimum")) %>         a rule's message in metadata.yaml
    x: <%= text("at least %d", parameter("minimum")) %>          a text with values in it
    x: <%= message("check", message_when(parameter("strict"), "strict")) %>    one in another's %s,
                                                                 under a condition
    x: <%= variable("spec.%s", parameter("field")) %>            {{ spec.FIELD }}
    x: <%= join_with(parameter("registries"), " | ", "%s/*") %>  a list as one text
    x: <%= each(parameter("registries"), "%s/*") %>              the list, every text put in a form
    x: <%= either("a", "b", since("podSecurityVersion", "1.27", "c")) %>   a pattern: any of them
    x: <%= cel("size(object.x) > %s", parameter("minimum")) %>   CEL with values as its literals
    x: <%= cel(matching(parameter("tags"))) %>                   a regular expression, for matches()

Conditions, around whole lines:

    <% call when(version_at_least("podSecurityVersion", "1.34")) %>
    …
    <% endcall %>

A loop over what facts say:

    <% for kubernetes, api_version, kinds in removed_apis() %>

A value is printed as JSON, so nothing in it can break out of its place. In CEL it is a literal:
most readable is a policy that puts its parameters in `variables` and speaks of those. All lines of
a policy may stand under one `when`: where it does not hold, the policy is an empty document and is
not written.

The Helm text is the body of a named template. It is included with a mapping whose `parameters`
holds a value for every parameter that the policy has. With these values at hand a template is
filled in as it stands, without Helm: each expression has its code and its value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from jinja2 import pass_context
from jinja2.runtime import Context

from chartkit.documents.reader import Document, Source, read_text
from chartkit.errors import InputError
from chartkit.go.fmt import go_json
from chartkit.kyverno.releases import removed_apis
from chartkit.kyverno.versions import parse_version
from chartkit.library.policies import FolderPolicy, Library, LibraryPolicy, Parameter
from chartkit.library.templating import render_text, source_documents
from chartkit.model import Body, Json, Location
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

_VERB = re.compile("%[sdv%]")
_QUOTED: Final = re.compile(r"\{\{-?\s*[\"`]")
"""The beginning of a literal of Helm."""
_OPEN = "{{"
_CLOSE = "}}"
_ASK: Final = "`chartkit policies show NAME` says which parameters a policy has"


@dataclass(frozen=True, slots=True)
class Expression:
    """A Helm expression, and its value where the parameters are known; printing it into a template
    prints its value as JSON."""

    code: str
    value: Callable[[], Any]

    def __str__(self) -> str:
        return f"{_OPEN} {self.code} | toJson {_CLOSE}"


def helm_body(policy: FolderPolicy) -> str:
    """The body of the policy's named template; raises RenderError or InputError for a bad one."""
    return _body(policy, policy.template)


def helm_cel(policy: FolderPolicy) -> str | None:
    """The same for its form in CEL; None where it has no such form."""
    return _body(policy, policy.cel) if policy.cel else None


def _body(policy: FolderPolicy, source: Source) -> str:
    from chartkit.helm.syntax import escape

    functions = vocabulary(policy, source.file)
    return render_text(escape(source.text), functions, source.file, printed=_printed)


def filled(policy: FolderPolicy, source: Source, parameters: Mapping[str, Json]) -> str:
    """Return a form's text with these parameters, of which each one of the policy has a value, as
    Helm renders it; raise RenderError or InputError for a bad template."""
    functions = {**vocabulary(policy, source.file, parameters), "when": _filled_when}
    text = source.text
    if _QUOTED.search(text):
        from chartkit.helm.syntax import printed_literals

        text = printed_literals(text)
    return render_text(text, functions, source.file, printed=_printed)


def filled_documents(
    policy: FolderPolicy, source: Source, parameters: Mapping[str, Json] = MappingProxyType({})
) -> list[Document]:
    """Return the documents of a form with these parameters and the defaults of all others; raise
    RenderError or InputError, with the template's own line where its text is not YAML."""
    text = filled(policy, source, {**policy.defaults, **parameters})
    try:
        return read_text(text, source.file)
    except InputError:
        source_documents(source.text, source.file)
        raise


def _filled_when(condition: Expression, caller: Callable[[], str]) -> str:
    return caller() if condition.value() else ""


@pass_context
def _printed(context: Context, value: Any) -> Any:
    """Return what is printed in place of a value: both texts of a form are of one compiled
    template, and the functions of that which is filled in say so."""
    is_filled = context.get("when") is _filled_when
    return _literal(value.value()) if is_filled and isinstance(value, Expression) else value


def vocabulary(
    policy: FolderPolicy, file: str, parameters: Mapping[str, Json] | None = None
) -> Mapping[str, Callable[..., Any]]:
    """The functions that a template of the policy may call, by name; file: the template's;
    parameters: None where Helm knows their values."""
    given = {} if parameters is None else parameters

    def parameter(name: str) -> Expression:
        return Expression(_reference(_declared(policy, name, file)), lambda: given[name])

    def version_at_least(name: str, version: str) -> Expression:
        return _at_least(_declared(policy, name, file), version, lambda: given[name])

    def since(name: str, version: str, *values: str) -> Expression:
        condition = version_at_least(name, version)
        return Expression(
            f"(ternary {_list(values)} (list) {condition.code})",
            lambda: list(values) if condition.value() else [],
        )

    def message(name: str, *values: Expression) -> str | Expression:
        form = _message(policy, name, file)
        if not values:
            if parameters is not None:
                return _folded(form)
            from chartkit.helm.syntax import escape

            return escape(_folded(form))
        if _OPEN in form:
            hint = "put %s in its place, and give message() the variable: variable(…)"
            raise InputError(f"message '{name}' has {_OPEN} and values", Location(file), hint)
        return text(form, *values)

    def message_when(condition: Expression, name: str) -> Expression:
        part = _message(policy, name, file)
        return Expression(
            f'(ternary {_literal(part)} "" {condition.code})',
            lambda: part if condition.value() else "",
        )

    return {
        "parameter": parameter,
        "message": message,
        "message_when": message_when,
        "version_at_least": version_at_least,
        "since": since,
        "join_with": join_with,
        "each": each,
        "text": text,
        "either": either,
        "variable": variable,
        "cel": cel,
        "matching": matching,
        "when": when,
        "removed_apis": removed_apis,
    }


def join_with(values: Expression, separator: str, form: str = "%s") -> Expression:
    """A list of texts as one text, every one of them put in a form with one `%s`. An empty list is
    an empty text: a form with nothing in it would be a value of its own."""
    before, _, after = form.partition("%s")
    joined = f"(join {_literal(after + separator + before)} {values.code})"

    def value() -> str:
        return separator.join(f"{before}{item}{after}" for item in values.value())

    if form == "%s":
        return Expression(joined, value)
    formed = f"(print {_literal(before)} {joined} {_literal(after)})"
    return Expression(f'(ternary "" {formed} (empty {values.code}))', value)


def each(values: Expression, form: str) -> Expression:
    """A list of texts, each put in a form with one `%s`; none of them has a line break."""
    joined = join_with(values, "\n", form)
    return Expression(
        f'(ternary (list) (splitList "\\n" {joined.code}) (empty {values.code}))',
        lambda: joined.value().split("\n") if values.value() else [],
    )


def text(form: str, *values: Expression) -> Expression:
    """A text with values in it, `%s` for a text and `%d` for a whole number."""
    arguments = "".join(f" {value.code}" for value in values)

    def value() -> str:
        given = [argument.value() for argument in values]
        texts = iter([_literal(v) if isinstance(v, bool) else str(v) for v in given])
        return _VERB.sub(lambda verb: "%" if verb[0] == "%%" else next(texts), form)

    return Expression(f"(printf {_literal(form)}{arguments})", value)


def either(*alternatives: str | Expression) -> Expression:
    """A pattern that accepts any of the texts; an Expression gives a list of them."""
    listed = _list([item for item in alternatives if isinstance(item, str)])
    lists = [item for item in alternatives if isinstance(item, Expression)]
    codes = "".join(f" {item.code}" for item in lists)

    def value() -> str:
        texts = [item for item in alternatives if isinstance(item, str)]
        return " | ".join([*texts, *(text for item in lists for text in item.value())])

    return Expression(f'(join " | " (concat {listed}{codes}))', value)


def variable(form: str, *values: Expression) -> Expression:
    """A Kyverno variable with values in its expression; form as in `text`."""
    return text(f"{_OPEN} {form} {_CLOSE}", *values)


def cel(form: str | Expression, *values: Expression) -> Expression:
    """An expression in CEL with values in it as literals, `%s` for each (and `%%` for a `%`). A
    value alone is its literal. Kyverno writes `object.spec` and the like anew for pod controllers
    wherever it finds the text; in a value it does not find it."""
    if isinstance(form, Expression):
        return _cel_literal(form)
    return text(form, *map(_cel_literal, values))


def matching(values: Expression, form: str = "%s") -> Expression:
    """A regular expression (RE2) for texts that one of the values fits, as wildcards: `*` is any
    text, `?` one character. form: what stands around each value, wildcards in it too."""
    joined = join_with(values, "\n", form)
    replaced = (("\n", "|"), ("\\*", ".*"), ("\\?", "."))
    steps = "".join(f" | replace {_literal(old)} {_literal(new)}" for old, new in replaced)

    def value() -> str:
        from chartkit.go.regexp import quote_meta

        pattern = quote_meta(joined.value())
        for old, new in replaced:
            pattern = pattern.replace(old, new)
        return f"(?s)^({pattern})$"

    return Expression(f'(printf "(?s)^(%s)$" ({joined.code} | regexQuoteMeta{steps}))', value)


def when(condition: Expression, caller: Callable[[], str]) -> str:
    """The lines of a call block, under a Helm condition."""
    return f"{_OPEN}- if {condition.code} {_CLOSE}\n{caller()}{_OPEN}- end {_CLOSE}\n"


def _folded(text: str) -> str:
    """Return a text in double quotes, folded over lines that are below any key of a policy."""
    lines = wrap(_literal(text), 84, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * 12}".join(lines)


def _cel_literal(value: Expression) -> Expression:
    # JSON is CEL; an escaped dot keeps the text from being rewritten.
    replaced = [(f"{word}.", f"{word}\\u002e") for word in ("object", "Object")]
    steps = "".join(f" | replace {_literal(old)} {_literal(new)}" for old, new in replaced)

    def literal() -> str:
        text = go_json(value.value())
        for old, new in replaced:
            text = text.replace(old, new)
        return text

    return Expression(f"({value.code} | toJson{steps})", literal)


def _message(policy: FolderPolicy, name: str, file: str) -> str:
    if name not in policy.messages:
        hint = suggestion(name, policy.messages) or "write it in metadata.yaml, under messages"
        raise InputError(f"the policy has no message '{name}'", Location(file), hint)
    return policy.messages[name]


def _declared(policy: FolderPolicy, name: str, file: str) -> Parameter:
    parameter = policy.parameters.get(name)
    if parameter is None:
        hint = suggestion(name, policy.parameters) or (
            "name it in metadata.yaml, under parameters or sharedParameters"
        )
        raise InputError(f"the policy has no parameter '{name}'", Location(file), hint)
    return parameter


def _reference(parameter: Parameter) -> str:
    path = f"$.parameters.{parameter.name}"
    # Helm reads every number of a values file as a float.
    return f"(int64 {path})" if parameter.type == "integer" else path


def _at_least(parameter: Parameter, version: str, given: Callable[[], Any]) -> Expression:
    path = _reference(parameter)
    newest = f'(eq {path} "latest")'

    def value() -> bool:
        text = given()
        wanted = parse_version(version, parameter.name)
        return text == "latest" or parse_version(text, parameter.name) >= wanted

    return Expression(f'(or {newest} (semverCompare ">={version}-0" {path}))', value)


def _list(values: tuple[str, ...] | list[str]) -> str:
    return "(list" + "".join(f" {_literal(value)}" for value in values) + ")"


def _literal(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def check_for_policy(
    name: str, value: Json, policy: LibraryPolicy, location: Location | None
) -> None:
    """Raises InputError for a parameter that the policy does not have, or a value unfit for it."""
    parameter = policy.parameters.get(name)
    if parameter is None:
        listed = ", ".join(sorted(policy.parameters))
        hint = suggestion(name, policy.parameters)
        hint = hint or (f"known are {listed}" if listed else "it has none")
        raise InputError(f"policy '{policy.name}' has no parameter '{name}'", location, hint)
    _check(parameter, value, location)


def check_for_all(name: str, value: Json, library: Library, location: Location | None) -> None:
    """Raises InputError for a parameter that no policy has, or a value unfit for all of them.
    Policies that have a parameter of one name may want other things of it; what a policy in the
    chart cannot use, the chart's schema refuses."""
    errors = []
    policies = library.policies.values()
    parameters = [policy.parameters[name] for policy in policies if name in policy.parameters]
    if not parameters:
        names = sorted({key for policy in policies for key in policy.parameters})
        hint = suggestion(name, names) or _ASK
        raise InputError(f"no policy has a parameter '{name}'", location, hint)
    for parameter in parameters:
        try:
            return _check(parameter, value, location)
        except InputError as error:
            errors.append(error)
    raise errors[0]


def _check(parameter: Parameter, value: Json, location: Location | None) -> None:
    given = _Given({parameter.name: value}, location or Location(""))
    for error in json_schema.violations(given, {"properties": {parameter.name: parameter.schema}}):
        hint = f"its default is {json.dumps(parameter.default, ensure_ascii=False)}"
        if "pattern" in parameter.schema and isinstance(value, str):
            hint += f"; {parameter.schema['description'].rstrip('.')}"
        raise InputError(f"parameter {error.message}", location, hint)


class _Given(NamedTuple):
    """A value that stands in one place, all of it."""

    body: Body
    place: Location

    def locate(self, *_: str | int) -> Location:
        return self.place
