"""All banks in one SQLite file.

`store` is the door; `connection` opens the file and turns engine errors into ours; `migrations`
and `schema` make and renew the tables; `sql` holds every statement; `rows` encodes and checks
rows; `reader`, `writer` and `erase` carry one transaction; `check` verifies a whole file.
"""

from evimem.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
