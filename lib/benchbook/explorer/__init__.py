"""The explorer: any contrast of a study looked at from all sides, and one's own documents measured by questions.

`benchbook.explorer.page` puts the widgets together; what they show is made by functions that need no widget:
`sources` (what was measured), `contrasts` (what can be asked, and the answer), `drawing`, `own_claims`, `running`,
`documents`.
"""
