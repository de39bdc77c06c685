"""The commands of ``omtl``, one file each; to add a command, add a file.

A command's module has

``HELP``
    what it does, in one line;
``EXAMPLES``
    command lines, without the program's name, that its help shows;
``add_options(command)``
    which adds its arguments to its parser;
``run(options)``
    which does it and returns the exit status (`omtl.util.status`).

A module imports nothing heavy at its top: the help of all commands must come at once. Commands are
thin: what they do is done by the code that make and Hydra use too. Modules whose
names begin with ``_`` are what commands share.
"""
