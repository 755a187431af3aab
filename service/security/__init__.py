"""Who may do what: tokens, sessions, foreign pages, limits, the audit log, what a request may name.

    request ─► middleware.Guard ─► dependencies (role) ─► route ─► policy (names) ─► audit
                 │ Host, Origin, secrets in URLs, rate, body
                 └ identity: bearer token, session cookie, or "local" on loopback without tokens

docs/security.md has the threats, what stops each, and the test that shows it.
"""
