"""The commands of ``omtl``, one file each; to add a command, add a file.

A command's module has

``HELP``
    what it does, in one line;
``EXAMPLES``
    command lines, without the program's name, that its help shows;
``add_options(command)``
    which adds the command's arguments to its parser;
``run(options)``
    which runs the command and returns the exit status (`omtl.util.status`), or None for success.

A module imports nothing heavy at the top, so that help appears at once. Commands are thin wrappers
around the code that make and Hydra use too. Modules whose names begin with ``_`` are shared by the
commands.
"""
