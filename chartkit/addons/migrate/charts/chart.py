"""Charts whose templates are policies: both forms in the templates, and the switch in values,
schema and README."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.charts.chosen import helpers
from chartkit.addons.migrate.charts.forms import (
    SWITCH,
    LeftPolicy,
    NamedTemplates,
    NewForm,
    named_templates,
    new_forms,
    with_forms,
)
from chartkit.addons.migrate.charts.proof import Agree, ChartProof, ValuesCase, cases, render
from chartkit.addons.migrate.charts.pulled import pulled_files
from chartkit.addons.migrate.charts.served import checks
from chartkit.addons.migrate.charts.template import DOCUMENT
from chartkit.addons.migrate.charts.variants import HELPERS
from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP
from chartkit.engine.policies import EXCEPTION
from chartkit.errors import ChartkitError, InputError
from chartkit.helm.model import Target
from chartkit.model import Body, Location, Resource, mapping_at
from chartkit.output.yaml_edit import rewritten
from chartkit.report.model import resource_id
from chartkit.temporary import temporary_folder

FORMS: Final = ("ClusterPolicy", "ValidatingPolicy", "both")
_COMMENT: Final = """\
# -- Form of the policies: ClusterPolicy (kyverno.io), ValidatingPolicy (policies.kyverno.io, in
# CEL), or both: ClusterPolicies, which act, and next to them ValidatingPolicies that only report.
"""
_README: Final = " ".join(line.strip("# -") for line in _COMMENT.splitlines())
_TABLE: Final = re.compile(
    r"^\| *(Key|Parameter|Name|Value) *\|(?: *(?:Type|Default|Value|Description) *\|){2,3}\n"
    r"\|[-| :]+\|\n",
    re.MULTILINE,
)
_ASKED: Final = re.compile(r"\.Capabilities\.APIVersions\.Has\s+\"([^\"]+)\"")
_TOGETHER: Final = (
    f"its template asks for the API {KYVERNO_GROUP}, and has a policy that stays: give the latter "
    "a template of its own"
)


@dataclass(frozen=True, slots=True)
class ChartMigration:
    """A chart with both forms of its policies.

    texts: of the files that change or are new; converted: the templates with both forms; left: the
    policies that stay, each with its place and the reason; refused: by template, the values that
    the new form does not take; rendering: the templates that render converted files.
    """

    texts: Mapping[Path, str] = field(default_factory=dict)
    converted: frozenset[Path] = frozenset()
    left: Sequence[tuple[Location, str]] = ()
    refused: Mapping[Path, Sequence[str]] = field(default_factory=dict)
    served: Sequence[Location] = ()
    checks: Sequence[Location] = ()
    rendering: frozenset[Path] = frozenset()

    def has(self, location: Location) -> bool:
        """Report whether a template is converted, or named with the reason why it is not."""
        file = Path(location.file)
        done = self.converted | self.rendering
        return file in done or any(Path(place.file) == file for place, _ in self.left)


@dataclass(frozen=True, slots=True)
class KnownTemplates:
    """Templates by the policies that they render: proved: those whose policies are proved;
    differing: the policies that stay, by kind and name, with the reason; legacy: what a chart with
    exceptions renders."""

    proved: frozenset[Path] = frozenset()
    differing: Mapping[str, str] = field(default_factory=dict)
    legacy: Sequence[Resource] = ()


def migrate_chart(
    folder: Path,
    given: Sequence[ValuesCase],
    target: Target,
    known: KnownTemplates,
    agree: Agree | None,
) -> ChartMigration:
    """Return the migration of a chart's own templates.

    given: the values of files; agree: asks both forms about requests, None for no such proof.
    """
    sources = dict(_templates(folder))
    pulled = pulled_files(folder, sources)
    sources |= {file: file.read_text("utf-8") for file in pulled}
    if not any("kyverno.io" in text for text in sources.values()):
        return ChartMigration()
    prefix = chart_name(folder)
    named = named_templates([*_of_dependencies(folder), *sources.values()], prefix, _values(folder))
    if any(EXCEPTION in text for text in sources.values()):
        known = replace(known, legacy=_legacy(folder, given, target))
        named = replace(named, legacy=known.legacy)
    forms, left, present = _placed(sources, named, pulled)
    texts: dict[Path, str] = {}
    switched = _switched(folder) if forms else {}
    while forms:
        texts = switched | _texts(folder, sources, forms, prefix)
        numbered = switched | _texts(folder, sources, forms, prefix, pulled)
        differences = _differences(folder, numbered, forms, pulled, given, target, known, agree)
        if not differences:
            break
        for form, reason in differences:
            (file,) = [file for file, made in forms.items() if form in made]
            left.append((Location(str(file), form.region.line), reason))
            forms[file].remove(form)
        _leave_together(forms, left)
    refused = {
        file: [reason for form in made for reason in form.refused] for file, made in forms.items()
    }
    conditions = {
        (str(file), sources[file].count("\n", 0, form.served.start) + 1)
        for file, made in forms.items()
        for form in made
        if form.served
    }
    covered = {*forms, *present, *(Path(place.file) for place, _ in left)}
    unread = {file for file in pulled.keys() - covered if "kyverno.io" in sources[file]}
    left.sort(key=lambda row: (row[0].file, row[0].line))
    return ChartMigration(
        texts if forms else {},
        frozenset(forms) | present,
        left,
        refused,
        [Location(file, line) for file, line in sorted(conditions)],
        [
            Location(str(file), line)
            for file, text in (sources.items() if forms or present else ())
            for line in checks(text)
        ],
        frozenset(pulled.values()) - {pulled[file] for file in unread},
    )


def _legacy(folder: Path, given: Sequence[ValuesCase], target: Target) -> list[Resource]:
    """Return the legacy objects that a chart renders with any values of the proof."""
    objects: dict[str, Resource] = {}
    for case in cases(folder, _values(folder), given, target):
        with suppress(ChartkitError):
            for bodies in render(folder, case.values, target).values():
                legacy = filter(is_legacy, map(Resource, bodies))
                objects = {resource_id(resource): resource for resource in legacy} | objects
    return list(objects.values())


def _placed(
    sources: Mapping[Path, str], named: NamedTemplates, pulled: Mapping[Path, Path]
) -> tuple[dict[Path, list[NewForm]], list[tuple[Location, str]], set[Path]]:
    """Return the new forms of templates, the policies without one, and the templates that have both
    forms."""
    forms: dict[Path, list[NewForm]] = {}
    left: list[tuple[Location, str]] = []
    present: set[Path] = set()
    for file, text in sources.items():
        if file.suffix == ".tpl" and file not in pulled:
            continue
        placed = new_forms(text, named)
        includes = any(f'include "{name}"' in text for name in named.policies)
        if not placed and (includes or DOCUMENT.search(text)):
            present.add(file)
        for form in placed:
            if isinstance(form, LeftPolicy):
                left.append((Location(str(file), form.line), form.reason))
            else:
                forms.setdefault(file, []).append(form)
    _leave_together(forms, left)
    return forms, left, present


def _leave_together(forms: dict[Path, list[NewForm]], left: list[tuple[Location, str]]) -> None:
    """Leave out new forms behind a condition on the API of kyverno.io, next to a policy that
    stays, which needs the condition as it is; and templates without new forms."""
    staying = {place.file for place, _ in left}
    for file, made in list(forms.items()):
        leaving = [form for form in made if form.served and str(file) in staying]
        left += [(Location(str(file), form.region.line), _TOGETHER) for form in leaving]
        forms[file] = [form for form in made if form not in leaving]
        if not forms[file]:
            del forms[file]


def _by_template(
    forms: Mapping[Path, Sequence[NewForm]], pulled: Mapping[Path, Path]
) -> Mapping[Path, list[NewForm]]:
    """Return forms by the templates that render them."""
    templates: dict[Path, list[NewForm]] = {}
    for file, made in forms.items():
        templates.setdefault(pulled.get(file, file), []).extend(made)
    return templates


def _of_dependencies(folder: Path) -> Iterator[str]:
    """Yield the templates of the charts that a chart has in its folder `charts`."""
    for chart in sorted((folder / "charts").glob("*/Chart.yaml")):
        yield from (text for _, text in _templates(chart.parent))
        yield from _of_dependencies(chart.parent)


def _templates(folder: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted((folder / "templates").rglob("*")):
        if file.suffix in (".yaml", ".yml", ".tpl") and file.is_file() and not file.is_symlink():
            try:
                yield file, file.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue  # Helm names it


def chart_name(folder: Path) -> str:
    """Return the name of a chart; of one that cannot be read, that of its folder."""
    try:
        metadata = parse_yaml((folder / "Chart.yaml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, InputError):
        return folder.name
    return str(mapping_at(metadata).get("name") or folder.name)


def _differences(
    folder: Path,
    texts: Mapping[Path, str],
    forms: Mapping[Path, Sequence[NewForm]],
    pulled: Mapping[Path, Path],
    given: Sequence[ValuesCase],
    target: Target,
    known: KnownTemplates,
    agree: Agree | None,
) -> list[tuple[NewForm, str]]:
    """Return the new forms that differ from the old ones, each with the reason."""
    with temporary_folder() as parent:
        new = parent / folder.resolve().name
        shutil.copytree(folder, new, symlinks=True)
        for file, text in texts.items():
            (new / file.relative_to(folder)).write_text(text, "utf-8", newline="\n")
        by_name = {
            file.relative_to(folder).as_posix(): made
            for file, made in _by_template(forms, pulled).items()
        }
        proved = {file.relative_to(folder).as_posix() for file in known.proved & forms.keys()}
        served = _ASKED.findall("\n".join(texts.values()))
        wide = replace(target, api_versions=(*dict.fromkeys((*target.api_versions, *served)),))
        proof = ChartProof(
            folder, new, by_name, target, wide, agree, proved, known.differing, legacy=known.legacy
        )
        decisive = {
            path: form.decisive[path]
            for made in forms.values()
            for form in made
            for path in form.decisive
        }
        return proof.differences(cases(folder, _values(folder), given, target, decisive))


def _values(folder: Path) -> Body:
    file = folder / "values.yaml"
    return mapping_at(parse_yaml(file.read_text("utf-8"))) if file.is_file() else {}


def _texts(
    folder: Path,
    sources: Mapping[Path, str],
    forms: Mapping[Path, Sequence[NewForm]],
    prefix: str,
    pulled: Mapping[Path, Path] | None = None,
) -> dict[Path, str]:
    """Return the templates of a chart with the new forms; pulled: the files that templates render,
    for a proof, in which the old forms have numbers."""
    templates = {} if pulled is None else _by_template(forms, pulled)
    numbers = {id(form): at for made in templates.values() for at, form in enumerate(made)}
    texts = {file: with_forms(sources[file], policies, numbers) for file, policies in forms.items()}
    if any(form.uses_helpers for policies in forms.values() for form in policies):
        own = folder / "templates" / HELPERS
        others = (text for file, text in (dict(sources) | texts).items() if file != own)
        texts[own] = helpers(prefix, list(others))
    return texts


def _switched(folder: Path) -> dict[Path, str]:
    """Return the other files of a chart that get the switch."""
    texts: dict[Path, str] = {}
    values, schema, readme = (
        folder / name for name in ("values.yaml", "values.schema.json", "README.md")
    )
    body = _values(folder)
    if SWITCH not in body:
        before = values.read_text("utf-8") if values.is_file() else ""
        texts[values] = _with_switch(before, body, values)
        if schema.is_file():
            texts[schema] = _with_property(schema.read_text("utf-8"), schema)
        if readme.is_file():
            texts[readme] = _with_row(readme.read_text("utf-8"))
    return texts


def _with_switch(text: str, body: Body, file: Path) -> str:
    """Return a values file with the switch, behind the values that are not mappings at its
    begin."""
    at = next((at for at, value in enumerate(body.values()) if isinstance(value, dict)), len(body))
    entries = list(body.items())
    wanted = dict([*entries[:at], (SWITCH, FORMS[0]), *entries[at:]])
    comment = f"## @param {SWITCH} {_README}\n" if "## @param " in text else _COMMENT
    own = f"{comment}{SWITCH}: {FORMS[0]}\n"
    if not body:
        return f"{text}{own}"
    return rewritten(text, wanted, file, f"add {SWITCH}: {FORMS[0]}", own)


def _with_property(text: str, file: Path) -> str:
    """Return a schema of values that knows the switch."""
    schema = json.loads(text)
    if SWITCH in mapping_at(schema, "properties"):
        return text
    added = {"type": "string", "enum": list(FORMS)}
    for match in re.finditer(r"\"properties\"\s*:\s*\{(\s*)", text):
        comma = "," if schema.get("properties") else ""
        space = match[1] or " "
        edited = f"{text[: match.end()]}{json.dumps(SWITCH)}: {json.dumps(added)}{comma}{space}"
        edited += text[match.end() :]
        try:
            if json.loads(edited).get("properties", {}).get(SWITCH) == added:
                return edited
        except ValueError:
            continue
    raise InputError(f"has no place for {SWITCH}", Location(str(file)))


def _with_row(text: str) -> str:
    """Return a README that names the switch: in its table of values, else at its end."""
    if SWITCH in text:
        return text
    table = _TABLE.search(text)
    if table is None:
        return f"{text.rstrip()}\n\n## {SWITCH}\n\n{_README} Default: {FORMS[0]}.\n"
    at = table.end()
    is_sorted = table[1] == "Key"
    while text[at:].startswith("|"):
        if is_sorted and text[at + 1 :].strip().split(" ", 1)[0].strip("`") >= SWITCH:
            break
        at = text.index("\n", at) + 1 if "\n" in text[at:] else len(text)
    mark = "`" if text[table.end() :].startswith("| `") else ""
    cells = {"Type": "string", "Description": _README}
    row = [
        f"{mark}{SWITCH}{mark}" if not number else cells.get(name, f'`"{FORMS[0]}"`')
        for number, name in enumerate(
            part.strip() for part in table[0].split("\n")[0].split("|")[1:-1]
        )
    ]
    return f"{text[:at]}| {' | '.join(row)} |\n{text[at:]}"


def migrate_charts(
    folders: Sequence[Path],
    given: Sequence[ValuesCase],
    target: Target,
    known: KnownTemplates,
    agree: Agree | None,
) -> ChartMigration:
    """Return the migration of several charts as one."""
    made: list[ChartMigration] = []
    for folder in folders:
        try:
            made.append(migrate_chart(folder, given, target, known, agree))
        except ChartkitError as error:
            place = error.location or Location(str(folder))
            made.append(ChartMigration(left=[(place, error.message)]))
        except (OSError, UnicodeDecodeError) as error:
            reason = f"cannot be read: {error}"
            made.append(ChartMigration(left=[(Location(str(folder)), reason)]))
    return ChartMigration(
        {file: text for chart in made for file, text in chart.texts.items()},
        frozenset(file for chart in made for file in chart.converted),
        [row for chart in made for row in chart.left],
        {file: reasons for chart in made for file, reasons in chart.refused.items()},
        [place for chart in made for place in chart.served],
        [place for chart in made for place in chart.checks],
        frozenset(file for chart in made for file in chart.rendering),
    )
