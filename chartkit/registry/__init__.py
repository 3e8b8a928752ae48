"""What registries know of images, asked for over the OCI distribution protocol.

Three things are read: manifests, the configurations that they name, and the tokens that a registry
wants for both. Nothing is written, and nobody is asked unless the user says so.
"""

from __future__ import annotations

from chartkit.registry.images import Registries
from chartkit.registry.settings import Settings, read_settings

__all__ = ["Registries", "Settings", "read_settings"]
