//! Shows how costs grow: a sheet and a chart for each curve.

use rtmark_model::{Catalogue, Curve};

use crate::growth::{CurveWords, curves as of_block};
use crate::matrix::{Block, grouped};
use crate::notes::Notes;
use crate::sheet::{Chart, Column, Line, Place, Row, Scales, Sheet, Style};

/// Returns the curves of a block; reasons for missing points become notes.
pub fn curves(block: &Block<'_>, catalogue: &Catalogue, id: &str, notes: &mut Notes) -> Vec<Sheet> {
    let curves = of_block(block);
    let mut sheets: Vec<Sheet> = Vec::new();
    for of_one in curves.chunk_by(|a, b| a.key.scenario == b.key.scenario) {
        sheets.extend(sheet(block, of_one, catalogue, id, notes));
    }
    sheets
}

fn sheet(
    block: &Block<'_>,
    curves: &[Curve],
    catalogue: &Catalogue,
    id: &str,
    notes: &mut Notes,
) -> Option<Sheet> {
    let scenario = &curves.first()?.key.scenario;
    let mut counts: Vec<u32> = curves
        .iter()
        .flat_map(|curve| {
            let points = curve.points.iter().map(|point| point.n);
            points.chain(curve.missing.iter().map(|missing| missing.n))
        })
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let entry = counts.first().and_then(|n| catalogue.get(&scenario.at(*n).ok()?));
    let of = entry.and_then(|entry| Some(entry.point.as_ref()?.of.as_str())).unwrap_or("count");
    let basis = block.basis.map_or("", |basis| basis.name());
    let mut sheet = Sheet::new(
        format!("{id}-{scenario}"),
        scenario.to_string(),
        entry.map(|entry| entry.answers.clone()).unwrap_or_default(),
    );
    sheet.place = Place::Below;
    let number = |n: &u32| Column::number(n.to_string());
    let texts = [Column::text("kernel"), Column::text("grows"), Column::number("each")];
    sheet.columns = texts.into_iter().chain(counts.iter().map(number)).collect();
    let mut lines = Vec::new();
    for curve in curves {
        let kernel = curve.key.kernel.as_str();
        let words = CurveWords::of(curve, notes);
        let order = match curve.fit {
            Some(fit) if fit.explained < 0.999 && words.grows => {
                format!("{} (R\u{b2} {:.3})", words.order, fit.explained)
            }
            _ => words.order.to_owned(),
        };
        let order = format!("{order} {} {}", words.absent.unwrap_or_default(), words.marks);
        let name = block.name_of_curve(curve);
        let mut row = Row::new([name.clone(), order, words.per_element]);
        row.cells[1].marked = words.grows;
        row.cells.extend(counts.iter().map(|n| {
            let point = curve.points.iter().find(|point| point.n == *n);
            point.map(|point| grouped(point.cost)).unwrap_or_default().into()
        }));
        sheet.rows.push(row.kernel(kernel).scenario(scenario.as_str()));
        if !curve.points.is_empty() {
            let point = |point: &rtmark_model::CurvePoint| (f64::from(point.n), point.cost as f64);
            lines.push(Line {
                name,
                kernel: Some(kernel.to_owned()),
                style: Style::Line,
                points: curve.points.iter().map(point).collect(),
            });
        }
    }
    if !lines.is_empty() {
        sheet.charts.push(Chart {
            title: format!("{scenario}: {basis} against the number of {of}"),
            across: of.to_owned(),
            up: basis.to_owned(),
            scales: Scales::Growth,
            places: Vec::new(),
            lines,
        });
    }
    Some(sheet)
}
