"""Every result table and figure of the five papers, their numbers hollow and this machine's filled."""

from benchbook.figures.exhibit import Exhibit, Maker, save
from benchbook.figures.points import Row, each
from benchbook.figures.ratios import METRICS
from benchbook.figures.registry import FIGURES, TABLES, draw_all

__all__ = ["FIGURES", "METRICS", "TABLES", "Exhibit", "Maker", "Row", "draw_all", "each", "save"]
