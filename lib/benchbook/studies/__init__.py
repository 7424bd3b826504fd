"""The five studies: each module holds one paper's parameters, its timed loop and its expected rows.

Begin with a paper's module, such as `crud`. `cell` has the parameters and rows of all studies,
`cell_database` the database of a cell, and `update` which text an update changes. `harness` runs a
cell in Java or Node.js, and `catalogue` finds a study by its name.
"""
