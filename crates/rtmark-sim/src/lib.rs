//! A cycle-model simulator of Arm Cortex-M.
