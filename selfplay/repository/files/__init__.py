"""Files that cross between host and sandbox, and archives: bounded streams, written below one folder."""
