"""Executes a plan through papermill: one timing slot, a fresh kernel a cell, resumed and tried again."""
