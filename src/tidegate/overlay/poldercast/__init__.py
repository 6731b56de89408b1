"""PolderCast: peers that keep a ring for every topic by gossip (chapter 3 of the thesis on social publish/subscribe)."""
