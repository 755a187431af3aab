"""The command line: `saq-chaos`, one file per verb.

    main ──► soak · check · validate · list · doctor · clean · bench
      │
      └── every error that we raise on purpose: one message on stderr and its exit code

A verb's module imports nothing heavy before the verb runs, so `--help` and a mistyped option
answer at once. Nothing here decides anything about saq.
"""
