"""X.509 certificates and signing requests, with the fields that Go's `crypto/x509` has."""
