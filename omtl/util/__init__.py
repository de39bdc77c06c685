"""Utilities: errors, files, paths, seeds, versions of code, compiled code on disk."""
