"""Computing units: the store, the engines, the queue and the clusters."""
