"""What every other package uses: the typed configuration, parameters and errors, without torch."""
