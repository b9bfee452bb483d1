"""Finds hanging Kafka transactions in dumped log directories."""

__version__ = "0.1.0"
