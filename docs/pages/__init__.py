"""The pages of the site: texts of the repository, notebooks, measurements, and what the package says of itself."""
