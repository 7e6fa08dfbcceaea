"""The folder of a study: journal, lock, checksums."""
