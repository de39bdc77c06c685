"""Large margin metrics of one or many tasks: models, their objective, its descent."""

from omtl.util.compile_cache import keep_compiled

keep_compiled()
