"""How figures and tables look: one style, the kinds of plot, the papers' numbers hollow and this machine's filled."""
