"""The front door: chaos runs over HTTP. A FastAPI app, a queue of runs, their store, a console.

    HTTP ──► api ──► runs ──► one runner process per run ──► chaos.soak ──► run directory
              │       │              │
         security   store        events, snapshots ──► subscribers (SSE), metrics

It imports `chaos` and nothing imports it; `saq-chaos serve` starts it as a process of its own.
"""
