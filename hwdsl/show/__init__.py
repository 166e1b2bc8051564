"""What people look at: figures, tables, reports, claims."""
