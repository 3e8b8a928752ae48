"""X.509 certificates and signing requests."""

from chartkit.engine.jmespath.declaration import FunctionSpec

FUNCTIONS: tuple[FunctionSpec, ...] = ()
