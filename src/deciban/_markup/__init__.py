"""Text and HTML for readers, safe whatever a class is called."""
