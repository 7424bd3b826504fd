"""A user's own file in the place of a study's data: JSON, delimited text, XML or Parquet.

`own_records` gives a file's first records as a data set; begin there. `record_files` opens the file
and finds its format's reader: `json_files`, `delimited_files`, `xml_files` or `parquet_files`. A
reader reads the records that are measured, and no more. `opened_file` has what readers share;
`inference` finds the types of fields, and `text_columns` those of texts.
"""
