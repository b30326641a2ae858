"""Sokoban: generated levels, an optimal expert and difficulty categories."""
