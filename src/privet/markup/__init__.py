"""HTML in pieces, for pages and for notebooks: text made safe, tables, sections."""
