"""How XLA compiles for tests, which compile many programs and run each a few times."""

from importlib.metadata import PackageNotFoundError, version


def knows_emitters():
    """Whether XLA has a flag for its emitters; one that it does not know ends the process."""
    try:
        return tuple(map(int, version("jaxlib").split(".")[:2])) >= (0, 8)
    except PackageNotFoundError:
        return False


# Optimization would cost more than it saves, and the newer emitters take twice as long as the old.
FLAGS = ["--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"]
if knows_emitters():
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")
