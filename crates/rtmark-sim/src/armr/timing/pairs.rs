//! Which two instructions issue in one cycle.
//!
//! The rules are the manual's (DDI 0363, 14.23.1); its table of pairs (14.23.2) has not been read.
//! The table here is derived from the reservations in GCC's descriptions (`cortex-r4.md`,
//! `cortex-r4f.md`), which call themselves an approximation.

use super::demand::Class;
use crate::armr::control::actlr;

/// The classes that may issue second, for each first class.
const PAIRS: &[(Class, &[Class])] = &[
    (
        Class::Move,
        &[
            Class::Move,
            Class::Alu,
            Class::AluByRegister,
            Class::FloatMove,
            Class::FloatSimple,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
            Class::FloatDivide,
        ],
    ),
    (
        Class::Alu,
        &[
            Class::FloatMove,
            Class::FloatSimple,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
            Class::FloatDivide,
        ],
    ),
    (
        Class::AluByRegister,
        &[
            Class::FloatMove,
            Class::FloatSimple,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
            Class::FloatDivide,
        ],
    ),
    (
        Class::Multiply,
        &[
            Class::FloatMove,
            Class::FloatSimple,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
            Class::FloatDivide,
        ],
    ),
    (
        Class::Access,
        &[
            Class::Move,
            Class::Alu,
            Class::FloatMove,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
            Class::FloatDivide,
        ],
    ),
    (
        Class::FloatMove,
        &[
            Class::Move,
            Class::Alu,
            Class::AluByRegister,
            Class::FloatMove,
            Class::FloatSimple,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
            Class::FloatDivide,
        ],
    ),
    (
        Class::FloatSimple,
        &[Class::Move, Class::Alu, Class::FloatMove, Class::FloatSum, Class::FloatMultiplyAdd],
    ),
    (
        Class::FloatSum,
        &[
            Class::Move,
            Class::Alu,
            Class::AluByRegister,
            Class::FloatMove,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
        ],
    ),
    (
        Class::FloatMultiplyAdd,
        &[
            Class::Move,
            Class::Alu,
            Class::AluByRegister,
            Class::FloatMove,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
        ],
    ),
    (
        Class::FloatDivide,
        &[
            Class::Move,
            Class::Alu,
            Class::AluByRegister,
            Class::FloatMove,
            Class::FloatSum,
            Class::FloatMultiplyAdd,
        ],
    ),
    (
        Class::FloatLoad,
        &[Class::Move, Class::Alu, Class::FloatMove, Class::FloatSum, Class::FloatMultiplyAdd],
    ),
    (
        Class::FloatStore,
        &[Class::Move, Class::Alu, Class::FloatMove, Class::FloatSum, Class::FloatDivide],
    ),
];

/// Returns whether a second instruction may issue with a first one, according to their classes and
/// what ACTLR disables.
pub fn may_pair(first: Class, second: Class, actlr: u32) -> bool {
    let Some((_, seconds)) = PAIRS.iter().find(|(class, _)| *class == first) else { return false };
    let off = |bit| actlr & bit != 0;
    match second {
        // Case A: a branch, NOP or IT after anything.
        Class::Branch | Class::Nothing => !off(actlr::DIADI),
        _ if !seconds.contains(&second) => false,
        // Case B1: an access and an operation; case C: a move and an operation.
        Class::Move | Class::Alu | Class::AluByRegister if first == Class::Access => {
            !off(actlr::DIB1DI)
        }
        Class::Move | Class::Alu | Class::AluByRegister if first == Class::Move => {
            !off(actlr::DICDI)
        }
        _ => true,
    }
}
