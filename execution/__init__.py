"""The run loop: requests become flat leaves, leaves become responses, and one bad request never harms another."""
