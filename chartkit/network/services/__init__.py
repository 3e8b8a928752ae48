"""Calls of the services that policies ask, over HTTP, to hosts that the user names."""

from chartkit.network.services.client import Services, read_hosts

__all__ = ["Services", "read_hosts"]
