"""From facts to verdicts: pure functions of DataFrames. No session, no action, no clock."""
