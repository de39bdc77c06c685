"""Computing units: the store, the engine, its workers (threads, processes, clusters), exchange."""
