"""Policies put into profiles, and profiles into chartkit.yaml: as edits that keep comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from chartkit.documents.reader import parse_yaml
from chartkit.model import Body
from chartkit.output import atomic_folder
from chartkit.output.transaction import write_together
from chartkit.output.yaml_edit import rewritten

_NEW = """\
apiVersion: chartkit.dev/v1
kind: Profile
metadata:
  name: {name}
spec:
  title: {title}
  policies:
    {reference}: {{}}
"""


def new_profile(name: str, title: str, reference: str) -> str:
    """A profile's text with one policy."""
    return _NEW.format(name=name, title=title, reference=reference)


def with_policy(text: str, reference: str, file: Path) -> str:
    """A profile's text with one policy more, the last; raises InputError where it cannot be
    edited."""
    body: Body = parse_yaml(text)
    spec = body["spec"]
    policies = {**spec.get("policies", {}), reference: {}}
    wanted: Body = {**body, "spec": {**spec, "policies": policies}}
    hint = f"put it there by hand: `{reference}: {{}}` under spec.policies"
    return rewritten(text, wanted, file, hint)


def with_profile(text: str, profile: str, default: Sequence[str], file: Path) -> str:
    """chartkit.yaml's text with one profile more, the last; raises InputError where it cannot be
    edited. default: the profiles that a project has which names none."""
    body: Body = parse_yaml(text)
    profiles = [*body.get("profiles", default), profile]
    wanted = (
        {**body, "profiles": profiles} if "profiles" in body else {"profiles": profiles, **body}
    )
    return rewritten(text, wanted, file, f"put it there by hand: `- {profile}` under profiles")


def write_files(texts: Mapping[Path, str], project: Path) -> None:
    """Write files, all of them or none; raises InputError where one cannot be written, or stands
    behind a link that leads out of the project."""
    for path in texts:
        atomic_folder.require_inside(path, project)
    write_together(texts)
