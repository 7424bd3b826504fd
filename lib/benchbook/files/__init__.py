"""Files: a user's are checked before they are read; the suite's are written whole or not at all.

Begin with `inputs`, which refuses a file with its name and the reason, and `suite_files`, which
writes.
"""
