"""The explorer: every comparison of a study as a page of files, and answers about your own documents.

Begin with `questions`: what can be asked of a study, and the answers. `site` writes them beside the
`page` that `benchbook explore` opens. `documents` has the questions of `benchbook ask`, `replies`
their answers, and `precision` what would settle them. `answer_page` and the widgets of
`your_documents` show them.
"""
