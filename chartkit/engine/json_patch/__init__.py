"""JSON Patch (RFC 6902) on documents, for policies of both generations."""
