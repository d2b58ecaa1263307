"""What a person looks at: tables and pages made from stored values. Knows nothing of how bugs are made."""
