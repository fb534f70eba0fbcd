//! Real-time clocks of STM32, which count a clock of their own.
//!
//! Everything is computed from the number of that clock's periods (`ticks`). Those with a calendar (`stm32`) compute
//! dates and alarms from the moment at which it was set (`calendar`, `course`), that of STM32F1 (`stm32f1`) counts
//! from when it was configured.

mod calendar;
mod course;
mod layout;
mod shadow;
mod stm32;
mod stm32f1;
mod wakeup;

pub use layout::RtcLayout;
pub use stm32::CalendarRtc;
pub use stm32f1::CounterRtc;
