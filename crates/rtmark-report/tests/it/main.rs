//! Tests what the renderers write, and how a browser displays it.

mod browser;
mod findings;
mod fixture;
mod names;
mod render;
mod report;
mod suite;
