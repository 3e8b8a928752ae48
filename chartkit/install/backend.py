"""The choice of Helm for releases: its library, or its program where there is no library."""

from __future__ import annotations

from chartkit.helm.backend import chosen_program
from chartkit.install.library import LibraryReleases
from chartkit.install.program import ProgramReleases
from chartkit.install.releases import Releases, driver
from chartkit.network.cluster.client import Cluster


def releases(
    cluster: Cluster, namespace: str, timeout: int, force_conflicts: bool = False
) -> Releases:
    """Return Helm for the releases of a namespace. timeout: seconds for hooks; force_conflicts:
    whether upgrades take over fields that another program wrote.

    Raises RenderError where there is no Helm, InputError for a HELM_DRIVER that is not known.
    """
    kept = driver()
    program = chosen_program()
    if program is not None:
        return ProgramReleases(program, cluster, namespace, timeout, force_conflicts)
    # Not in the child process of `chartkit.helm`: a release needs the network and the
    # kubeconfig. `plan` has rendered the same chart within limits before.
    import helm_python

    return LibraryReleases(helm_python, cluster, namespace, timeout, kept, force_conflicts)
