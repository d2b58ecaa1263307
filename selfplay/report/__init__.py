"""What people look at: tables and pages made from stored values. Knows nothing about how bugs are made."""
