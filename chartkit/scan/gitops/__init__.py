"""Helm releases that objects declare (HelmRelease of Flux, Application and ApplicationSet of Argo
CD): charts in the same repository, rendered with their values. Imports `scan.inputs`."""

from __future__ import annotations

from typing import Final

FLUX: Final = "helm.toolkit.fluxcd.io"
ARGO: Final = "argoproj.io"
RELEASE_GROUPS: Final = frozenset({FLUX, ARGO})
"""The groups of objects that declare releases."""
