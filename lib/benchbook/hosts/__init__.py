"""A lab's hosts: blocks of cells are measured on other machines, which Dask connects; one machine needs none of it."""
