"""Sets of labels for rows."""
