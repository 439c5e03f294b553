"""Things that users predict: a folder each, and one record in `registry.py`."""
