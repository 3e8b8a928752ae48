"""Writes profiles/rendered: the policies of each built-in profile as Helm renders them.

python -m tools.rendered_profiles
"""

from __future__ import annotations

from chartkit.bundled import rendered_profile
from chartkit.scan.policies import profile_names, rendered_text


def main() -> None:
    """Write a file for each profile."""
    for name in profile_names():
        file = rendered_profile(name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(rendered_text(name), "utf-8")


if __name__ == "__main__":
    main()
