"""PolderCast (chapter 3 of the thesis on social publish/subscribe): peers that keep a ring for every topic, by
gossip."""
