"""What a prediction may change: decided from its text, before any test runs."""
