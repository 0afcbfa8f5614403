//! Helpers of the unit tests; those of the integration tests are in `tests/common`, which this includes.

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/helpers.rs"));
