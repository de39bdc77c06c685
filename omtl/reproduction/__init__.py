"""Numbers made again or handed in: replays, searches of readings, the board, records of runs."""
