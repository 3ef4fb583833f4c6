"""Which file of a version directory is the model, what kind of file it is, and which loader opens it."""
