"""Calls of the services that policies ask, over HTTP, to hosts that the user names."""

from chartkit.network.http.allowed import read_hosts
from chartkit.network.services.client import Services

__all__ = ["Services", "read_hosts"]
