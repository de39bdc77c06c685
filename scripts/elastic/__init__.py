"""Breaking runs on clusters at random moments, and going on with them."""
