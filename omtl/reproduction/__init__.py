"""From end to end: compute what the store lacks, compare with print, show, write."""
