"""ALFWorld: household tasks in text, after Shridhar et al., 2021."""
