"""Routing by words and places: how posts and conjunctions with a box are shared out over matchers."""
