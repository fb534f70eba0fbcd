//! What renderers write, and what a browser makes of it.

mod browser;
mod fixture;
mod render;
mod report;
