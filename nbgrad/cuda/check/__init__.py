"""``python -m nbgrad.cuda.check``: whether a GPU does what it should, and how quickly; stage by stage, a JSON line a row.

Stages that run tests or measurements take them from a checkout of the project, in which the command is then given. A row that fails
does not stop the next. The exit status is 0; 1 with a row that failed; 2 where no GPU can be used, with the reason.
"""
