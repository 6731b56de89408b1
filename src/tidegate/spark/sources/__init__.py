"""Streams that Tidegate brings along, as Python Data Sources: a synthetic microblog, and RSS and Atom feeds."""
