"""Computing units: the store, the engine on joblib, clusters, and processes of their own."""
