"""Savers and session managers of graphs, and whether a checkpoint fits them."""
