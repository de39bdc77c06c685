"""Running units: the store, who computes them, in what order, and on which machines."""
