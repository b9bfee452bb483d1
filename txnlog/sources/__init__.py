"""A dump as Spark DataFrames: the inventory of its files, and one data source per kind of fact."""
