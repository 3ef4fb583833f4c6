"""Models that are Python callables: leaves become arguments, and the result of a call becomes leaves."""
