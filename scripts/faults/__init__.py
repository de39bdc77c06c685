"""Breaking runs at random moments, and going on with them."""
