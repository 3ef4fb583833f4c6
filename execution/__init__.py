"""The run loop: requests become flat leaves, leaves become answers, and one bad request never hurts the next."""
