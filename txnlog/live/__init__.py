"""What asks a running cluster, and never changes it: the package confluent-kafka, `pip install txnlog[kafka]`."""
