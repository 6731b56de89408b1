"""Settings of all tests: Hypothesis draws the same examples on every run, and prints how to repeat a failure."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")
