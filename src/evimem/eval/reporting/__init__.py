"""Reports of benchmark runs: sections of tables and plots as one HTML page, Markdown and JSON."""
