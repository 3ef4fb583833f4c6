"""What every torch loader needs of torch itself: data types, tensors and devices."""
