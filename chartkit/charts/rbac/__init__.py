"""The permissions that Kyverno's controllers need for the policies of a chart."""
