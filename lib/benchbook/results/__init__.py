"""What runs write, and how it is read back: one Parquet file per cell and block.

`schema` has the columns, `files` reads and writes one file, `folder` keeps all of them.
Begin with `views`, which loads observations and answers SQL queries.
"""
