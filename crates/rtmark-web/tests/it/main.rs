//! Compares the simulator in a browser with the same program run natively: equal to the cycle.

mod browser;
mod image;
mod native;
mod server;
