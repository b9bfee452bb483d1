"""What ends a transaction: a COMMIT or ABORT marker, or one of which a text does not say which it is."""

from __future__ import annotations

from txnlog.dump_log.dump_text import NOT_PRINTED

# Kafka writes no other control batches within a transaction.
IS_MARKER = f"(marker_type IS NOT NULL OR (is_transactional AND coalesce(control_type, '') = '{NOT_PRINTED}'))"
MARKER_TYPE = f"coalesce(marker_type, if({IS_MARKER}, '{NOT_PRINTED}', NULL))"
