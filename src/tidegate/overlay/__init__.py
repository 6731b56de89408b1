"""The room of the broker chain: what ranked feeds cost on the links between brokers, and how late they are."""
