"""The durable side: subscriptions as a versioned table, plans, and the segments derived from them."""
