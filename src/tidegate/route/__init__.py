"""Who matches what: plans, where subscriptions live, and which matchers a post must visit."""
