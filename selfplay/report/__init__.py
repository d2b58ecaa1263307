"""Tables and pages for people, made from stored values. Knows nothing about how bugs are made."""
