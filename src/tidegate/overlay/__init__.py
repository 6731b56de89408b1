"""What is carried between brokers, and between peers.

The modules here are the broker chain: what ranked feeds cost on the links between brokers, and how late they are. Peers
that serve topics themselves are in `poldercast`, and `swarm` simulates them.
"""
