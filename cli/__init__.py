"""The commands of `python THIS_DIRECTORY COMMAND`, one module each."""
