//! Renders sheets in the page: their charts, and their tables below.

use std::io;

use maud::{Markup, PreEscaped, html};

use super::draw::chart;
use super::text::{breakable, command};
use crate::kernels::{KernelStyles, written};
use crate::sheet::{Cell, Kind, Place, Row, Sheet};

/// The number of rows above which a sheet is folded.
const LONG: usize = 12;

/// Renders a sheet with its heading, folded if it is long.
pub fn sheet(sheet: &Sheet, styles: &KernelStyles) -> Markup {
    let class = if sheet.place == Place::Below { "sheet below" } else { "sheet" };
    let folded = sheet.place == Place::Folded || sheet.rows.len() > LONG;
    html! {
        section class=(class) id=(sheet.id) {
            @if folded && sheet.charts.is_empty() {
                details {
                    summary { h4 { (sheet.title) } " " small { (sheet.rows.len()) } }
                    p { (breakable(&sheet.about)) }
                    (table(sheet))
                }
            } @else {
                h4 { (sheet.title) }
                @if !sheet.about.is_empty() { p { (breakable(&sheet.about)) } }
                (charts(sheet, styles))
                @if folded {
                    details { summary { "Its " (sheet.rows.len()) " rows" } (table(sheet)) }
                } @else if !sheet.rows.is_empty() { (table(sheet)) }
            }
        }
    }
}

/// Renders a curve: its question, its chart, and its figures folded below.
pub fn curve(sheet: &Sheet, styles: &KernelStyles) -> Markup {
    html! {
        section.curve id=(sheet.id) data-scenario=[sheet.rows.first().and_then(|row| row.scenario.as_deref())] {
            h4 { (breakable(&sheet.title)) }
            p { (breakable(&sheet.about)) }
            (charts(sheet, styles))
            details { summary { "Figures and orders" } (table(sheet)) }
        }
    }
}

fn charts(sheet: &Sheet, styles: &KernelStyles) -> Markup {
    html! {
        @if !sheet.charts.is_empty() {
            div.charts { @for each in &sheet.charts { (chart(each, styles)) } }
        }
    }
}

/// The text of an empty table body, where rows are inserted.
const NO_ROWS: &str = "<tbody></tbody>";

/// Writes a sheet whose rows are generated one at a time; nothing if there is none.
pub fn streamed(
    sheet: &Sheet,
    rows: impl Iterator<Item = Row>,
    part: &mut impl FnMut(Markup) -> io::Result<()>,
) -> io::Result<()> {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    let around = html! {
        section.sheet id=(sheet.id) {
            h4 { (sheet.title) }
            p { (breakable(&sheet.about)) }
            (table(sheet))
        }
    };
    let around = around.into_string();
    let (before, after) = around.split_once(NO_ROWS).unwrap_or((&around, ""));
    part(PreEscaped(format!("{before}<tbody>")))?;
    for each in rows {
        part(row(sheet, &each))?;
    }
    part(PreEscaped(format!("</tbody>{after}")))
}

/// Renders the table of a sheet.
pub fn table(sheet: &Sheet) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(sheet.title) {
            table.sheet-table {
                thead {
                    tr {
                        @for column in &sheet.columns {
                            th.n[column.kind == Kind::Number] scope="col" data-kernel=[&column.kernel] {
                                @if column.kernel.is_some() { (written(&column.name)) } @else { (breakable(&column.name)) }
                            }
                        }
                    }
                }
                tbody { @for each in &sheet.rows { (row(sheet, each)) } }
            }
        }
    }
}

/// Renders one row of a sheet's table.
fn row(sheet: &Sheet, row: &Row) -> Markup {
    // A kernel has the same name in every table.
    let text = |cell: &Cell| {
        let is_kernel = row.kernel.as_deref() == Some(cell.text.as_str());
        breakable(if is_kernel { written(&cell.text) } else { &cell.text })
    };
    html! {
        tr data-kernel=[&row.kernel] data-scenario=[&row.scenario] {
            @for (index, (cell, column)) in row.cells.iter().zip(&sheet.columns).enumerate() {
                @if index == 0 && column.kind == Kind::Text {
                    th scope="row" { (text(cell)) }
                } @else {
                    td.n[column.kind == Kind::Number] data-kernel=[&column.kernel] {
                        @if column.kind == Kind::Code { (command(&cell.text)) }
                        @else if cell.marked { mark { (text(cell)) } }
                        @else { (text(cell)) }
                    }
                }
            }
        }
    }
}
