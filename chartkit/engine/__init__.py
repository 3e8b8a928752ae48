"""The bundled engine: answers what Kyverno answers, offline."""
