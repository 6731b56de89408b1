"""Whom a system can satisfy with what it has, and what it would cost to satisfy all."""
