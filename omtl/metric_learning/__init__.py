"""Large-margin metrics for one or many tasks: models, objective and descent."""

from omtl.util.compile_cache import keep_compiled

keep_compiled()
