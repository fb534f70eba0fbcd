//! What renderers write, and what a browser makes of it.

mod browser;
mod findings;
mod fixture;
mod render;
mod report;
mod suite;
