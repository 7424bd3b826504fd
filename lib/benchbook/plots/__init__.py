"""How figures and tables look: the papers' numbers hollow, this machine's filled.

Begin with `exhibit.Exhibit`: a title, points or a table, and notes. `points`, `ratio_plot` and
`claim_lines` make the data; `save` draws it by `point_plots` and `claims_plot`.
"""
