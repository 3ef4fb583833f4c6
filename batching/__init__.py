"""Many requests, one call: rows gathered before the model runs, and handed back to their requests after it."""
