//! Pull requests, threads and reviews on any git repository, kept in the daemon's own file.
