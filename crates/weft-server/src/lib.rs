//! The server: PostgreSQL's protocol, version 3, over the library.
