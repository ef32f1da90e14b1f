"""How files are read and written; knows neither schemas nor rows."""
