"""The load that policies put on a cluster: AdmissionReviews by operation, PolicyReports with their
size in etcd, and memory; counted by the engine, and calibrated by what upstream measured."""
