"""Kyverno's libraries about images: references, metadata, signatures."""
