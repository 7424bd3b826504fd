"""How figures and tables look: one style, the kinds of plot, the papers' numbers hollow and this machine's filled.

In comes `benchbook.evidence.Evidence`; out comes an `exhibit.Exhibit`: a title, a frame, notes, and a drawing unless it
is a table. Which exhibits there are is said in `benchbook.papers`; here is how each kind is made. Begin with `points`
(a row a mark, whatever is drawn of it, and tables of them), then `dots` and `lines`, which draw points; `ratios` and
`verdicts` make points of comparisons and claims, `sheet` and `style` hold what all drawings share, and `exhibit.save`
writes one with its provenance.
"""
