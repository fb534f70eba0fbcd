//! The soc that the images are built for, as rtmark describes it.

include!(concat!(env!("OUT_DIR"), "/rtmark_soc.rs"));
