"""Reports: pure functions from a verdict and its history to text, JSON, JUnit, Markdown and HTML.

    Verdict, History ──► text · verdict_json · junit · markdown · html_page: .render
    Finding, History ──► story.of ──► story.text · story.html
                     └─► files.write: the report files of a run directory

Nothing here judges: a report shows what stands in the verdict and the events that a finding names.
Whatever comes from a run (keys, error texts, host names) is escaped for the format it is shown in.
"""
