"""The admission server, and the estimate of what its webhooks cost a cluster."""
