"""The explorer: every comparison of a study as a page of files, and your own documents measured by questions.

Block means come in, or a file of records; out go a folder that opens in any browser (`site`), and answers
(`documents`). Begin with `questions`: what can be asked of a study, and the answers. `documents` has the questions of
`benchbook ask`, which the widgets of `your_documents` ask in JupyterLab.
"""
