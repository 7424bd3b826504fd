"""How figures and tables look: one style, the kinds of plot, the papers' numbers hollow and this machine's filled.

In comes `benchbook.analysis.Analysis`; out comes an `exhibit.Exhibit`: a title, a frame, notes, and of a figure how its
points are to be drawn. Which exhibits there are is said in `benchbook.papers`; here is how each kind is made.

- Data, without matplotlib: `points` (a row per mark, and tables of them), `ratios` and `verdicts` (points of
  comparisons and claims), `exhibit`, `latex`.
- Drawing: `save` draws an exhibit and writes it with its provenance. `dots`, `lines` and `claims_plot` draw one kind
  of exhibit each; `sheet` and `style` hold what they share.
"""
