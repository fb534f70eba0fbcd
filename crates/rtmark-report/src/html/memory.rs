//! Shows how much memory each firmware uses.

use maud::{Markup, html};

use super::text::{breakable, swatch};
use super::view::View;
use crate::kernels::KernelStyles;
use crate::matrix::grouped;

/// Renders flash and RAM of each image, with a column for each kernel; nothing if no image is known.
pub fn memory(view: &View<'_>, styles: &KernelStyles) -> Markup {
    let block = &view.block;
    let firmware: Vec<_> =
        block.kernels.iter().map(|kernel| (kernel, block.firmware(*kernel))).collect();
    let mut images: Vec<&str> = Vec::new();
    for scenario in &block.scenarios {
        let group = scenario.group();
        if !images.contains(&group) && firmware.iter().any(|(_, images)| images.contains_key(group))
        {
            images.push(group);
        }
    }
    let sizes = || firmware.iter().flat_map(|(_, images)| images.values());
    let flash = sizes().map(|firmware| firmware.flash_bytes).max().unwrap_or(0);
    let ram = sizes().map(|firmware| firmware.ram_bytes).max().unwrap_or(0);
    let share =
        |bytes: u64, most: u64| format!("{:.1}%", bytes as f64 / most.max(1) as f64 * 100.0);
    html! {
        section id=(view.id("memory")) aria-labelledby=(view.id("memory-head")) {
            @if images.is_empty() {} @else {
                h3 id=(view.id("memory-head")) { "Memory" }
                details {
                    summary { "Flash and static RAM of each firmware image, in bytes" }
                    p.aside { "Each image contains all scenarios of its group. The longest bar is the largest image on the chip." }
                    div.wide tabindex="0" role="region" aria-label=(format!("Memory on {}", view.chip)) {
                        table.sizes {
                            thead {
                                tr {
                                    th scope="col" { "image" }
                                    @for column in &block.kernels {
                                        th.n scope="col" colspan="2" data-kernel=(column.0) {
                                            (swatch(&styles.class(column.0.as_str()))) " " (view.name(*column))
                                        }
                                    }
                                }
                                tr {
                                    td {}
                                    @for column in &block.kernels {
                                        th.n scope="col" data-kernel=(column.0) { "flash" }
                                        th.n scope="col" data-kernel=(column.0) { "RAM" }
                                    }
                                }
                            }
                            tbody {
                                @for image in &images {
                                    tr {
                                        th scope="row" { (breakable(image)) }
                                        @for (column, images) in &firmware {
                                            @let size = images.get(image);
                                            td.n data-kernel=(column.0) {
                                                @if let Some(size) = size {
                                                    (grouped(size.flash_bytes))
                                                    svg.bar.plain aria-hidden="true" {
                                                        rect width=(share(size.flash_bytes, flash)) height="100%" {}
                                                    }
                                                }
                                            }
                                            td.n data-kernel=(column.0) {
                                                @if let Some(size) = size {
                                                    (grouped(size.ram_bytes))
                                                    svg.bar.plain aria-hidden="true" {
                                                        rect width=(share(size.ram_bytes, ram)) height="100%" {}
                                                    }
                                                }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
