"""What comes out: certificate, evidence file, graph with its confidence, pictures and pages."""
