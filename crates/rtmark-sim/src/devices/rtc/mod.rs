//! Real-time clocks of STM32, which count a clock of their own.
//!
//! Everything is computed from the number of that clock's periods; see [`ticks`].

mod calendar;
mod course;
mod layout;
mod shadow;
mod stm32;
mod stm32f1;
mod supplies;
mod ticks;
mod wakeup;

pub use layout::RtcLayout;
pub use stm32::CalendarRtc;
pub use stm32f1::CounterRtc;
pub use supplies::Supplies;
pub use ticks::OwnSupply;
