"""saq-chaos: prove a saq worker's lifecycle under fire. `docs/whats-here.md` is the map."""
