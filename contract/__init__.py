"""The contract between a config and a model: the model's Signature, and the Plan that `bind` makes of both."""
