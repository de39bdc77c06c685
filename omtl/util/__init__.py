"""What everything stands on: errors, files, paths, seeds, how a program ends."""
