"""The commands of ``omtl``, one file each; to add a command, add a file.

A command's module says in the first line of its docstring what the command does, and in a section
*Examples* how it is called, a line each; its help shows both. It has

``GROUP``
    what people come for, one of `omtl.commands._main.GROUPS`; by default its package's;
``OPTIONS``
    its arguments, if it has any, of which several commands share some (`omtl.commands._options`);
``run(...)``
    which takes their values by name, runs the command, and returns whether it failed, if it can;
    the help says of an argument what its section *Parameters* does.

A package has the commands below it in files of its own: ``omtl store push``. Modules import nothing
heavy at the top, so that help appears at once. Commands are thin: what they do is in `omtl.api`,
for Python as for make and Hydra. Modules whose names begin with ``_`` are shared by the commands.
"""
