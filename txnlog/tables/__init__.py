"""The Delta tables: schemas, merges, retention."""
