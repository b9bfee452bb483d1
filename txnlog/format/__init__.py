"""What Kafka puts on disk: bytes in, values out. No Spark, no files, no clock."""
