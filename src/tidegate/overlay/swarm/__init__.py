"""The simulator: a swarm of peers in one process, cycle by cycle or event by event."""
