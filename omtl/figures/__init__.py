"""Figures: the lines that a panel shows, played, measured and drawn."""
