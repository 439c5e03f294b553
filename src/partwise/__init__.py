"""Structured prediction with maximum margin."""
