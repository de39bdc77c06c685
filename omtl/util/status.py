"""Exit statuses of the command line."""

DONE = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143
