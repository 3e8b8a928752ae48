"""ImageValidatingPolicies: digests that are added, who signed and attested, what must hold."""
