"""The live world: real processes, a real Redis, real signals."""
