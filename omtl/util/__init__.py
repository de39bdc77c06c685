"""Utilities: errors, files, paths, seeds, exit statuses."""
