"""A user's own file in the place of a study's data: JSON, delimited text, XML or Parquet.

Begin with `own_records`, which gives a file's records as a data set. `record_files` recognises the
format, each format's module reads it, and `inference` finds the types of what is nested.
"""
