"""Phrase-structure trees."""
