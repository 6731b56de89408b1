"""Delivery: who is told of a post, when and how; and how it is sent."""
