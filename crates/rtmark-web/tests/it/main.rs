//! The simulator in a browser and the same program here: equal to the last cycle.

mod browser;
mod image;
mod native;
mod server;
