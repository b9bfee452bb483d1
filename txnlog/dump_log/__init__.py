"""What `kafka-dump-log.sh` prints: text in, values out."""
