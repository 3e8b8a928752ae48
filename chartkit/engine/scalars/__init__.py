"""Go's and Kubernetes' scalars: how they are read, compared and printed."""
