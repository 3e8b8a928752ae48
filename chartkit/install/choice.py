"""Which Helm works on releases: its library, or its program where there is no library."""

from __future__ import annotations

from chartkit.chart.helm import HelmLibrary, HelmProgram, helm
from chartkit.errors import RenderError
from chartkit.install.cluster import Cluster
from chartkit.install.library import LibraryReleases
from chartkit.install.program import ProgramReleases
from chartkit.install.releases import Releases, driver


def releases(
    cluster: Cluster, namespace: str, timeout: int, force_conflicts: bool = False
) -> Releases:
    """Helm for the releases of a namespace; timeout: seconds for hooks; force_conflicts: whether
    upgrades take over fields that another program wrote.

    Raises RenderError where there is no Helm, InputError for a HELM_DRIVER that is not known.
    """
    kept = driver()
    match helm():
        case HelmLibrary() as found:
            return LibraryReleases(
                found.library, cluster, namespace, timeout, kept, force_conflicts
            )
        case HelmProgram() as found:
            return ProgramReleases(found.program, cluster, namespace, timeout, force_conflicts)
    raise RenderError("this Helm knows no releases")
