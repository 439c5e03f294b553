"""Segments as an output of `SequenceTagger`: what a tagger has besides with them."""
