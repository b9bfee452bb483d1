"""Requests to a running cluster, which never change it. Needs confluent-kafka: `pip install txnlog[kafka]`."""
