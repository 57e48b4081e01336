"""Pictures: what is drawn, as plain data, with one file per kind; matplotlib is imported where one is drawn."""
