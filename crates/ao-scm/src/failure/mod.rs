//! What the output of a failed check says: which tests, where, and a signature.
