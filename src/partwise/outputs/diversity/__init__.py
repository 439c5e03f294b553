"""Documents that cover subtopics."""
