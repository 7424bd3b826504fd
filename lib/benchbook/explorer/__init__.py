"""The explorer: every comparison of a study as a page of files, and answers about your documents.

Begin with `questions` for a study, whose answers `site` writes as files; and with `documents` for
your files, whose answers `replies` computes and `your_documents` shows.
"""
