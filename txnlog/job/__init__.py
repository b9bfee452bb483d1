"""The main job: read a dump, judge, write the tables."""
