"""The floor that every room stands on: typed configuration, parameters and errors, without torch."""
