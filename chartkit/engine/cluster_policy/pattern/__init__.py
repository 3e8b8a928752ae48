"""Patterns of validate rules: anchors, operators, paths and messages as Kyverno has them."""
